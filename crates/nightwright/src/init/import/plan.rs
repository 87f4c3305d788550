//! Splits a plan into instructions and a checklist.

use nightwright_core::evidence::checklist;

/// The line that leads from the instructions to the checklist.
const POINTER: &str = "The checklist of this plan is in `TODO.md`: check the checkboxes there.";

/// Returns the instructions, which are the whole plan, and the checklist: the boxes of the plan
/// below their headings. `None` if there is no box.
pub(super) fn split(text: &str) -> (String, Option<String>) {
    if checklist::count(text) == checklist::count("") {
        return (text.to_owned(), None);
    }
    let mut list = String::new();
    let mut heading = None;
    let mut is_code = false;
    for line in text.lines() {
        let words = line.trim_start();
        let is_fence = words.starts_with("```") || words.starts_with("~~~");
        is_code ^= is_fence;
        if is_fence || is_code {
            continue;
        }
        if words.starts_with('#') {
            heading = Some(line);
        } else if checklist::count(words) != checklist::count("") {
            if let Some(heading) = heading.take() {
                let gap = if list.is_empty() { "" } else { "\n" };
                list.extend([gap, heading, "\n\n"]);
            }
            list.extend([line, "\n"]);
        }
    }
    (format!("{POINTER}\n\n{text}"), Some(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checklist_has_the_boxes_of_the_plan_below_their_headings() {
        let plan = "# Plan: Shop\n\n**Status:** pending\n\n## Context\nWhy.\n\n### T1: Cart\n> Add\n\n\
                    **Done when:**\n- [ ] it sums up\n  - [x] taxes\n\n```\n- [ ] no box\n```\n\n\
                    **Subtasks:**\n1. [ ] add\n\n## Discovered\n";
        let (instructions, list) = split(plan);
        assert!(instructions.ends_with(plan) && instructions.starts_with(POINTER));
        assert_eq!(
            list.as_deref(),
            Some("### T1: Cart\n\n- [ ] it sums up\n  - [x] taxes\n1. [ ] add\n")
        );
        assert_eq!(checklist::count(&list.unwrap()), checklist::count(plan));
    }

    #[test]
    fn a_plan_without_boxes_is_only_instructions() {
        assert_eq!(split("# Plan\n\nDo it.\n"), ("# Plan\n\nDo it.\n".to_owned(), None));
    }
}
