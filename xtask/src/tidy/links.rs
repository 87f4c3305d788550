//! Checks that links in pages lead to existing files and headings.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::Finding;
use super::tree::File;

/// Finds broken relative links in Markdown pages. `exists` receives paths from the root.
pub(super) fn leading_nowhere(files: &[File], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in files.iter().filter(|file| is_page(&file.path)) {
        for (line, link) in links(&page.text) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let Some(target) = resolve(&page.path, path) else { continue };
            let why = if !exists(&target) {
                "the file does not exist"
            } else if !has_heading(files, &target, heading) {
                "the heading does not exist"
            } else {
                continue;
            };
            let rule = format!("no broken links (`{link}`)");
            findings.push(Finding::new(&page.path, line, rule, why));
        }
    }
    findings
}

/// Whether this is a page of the documentation, and not a recording or a sample.
fn is_page(path: &str) -> bool {
    let is_ours = !path.split('/').any(|part| matches!(part, "fixtures" | "tests" | "modes"));
    let is_text = Path::new(path).extension().is_some_and(|end| end == "md") || path == "llms.txt";
    is_ours && is_text
}

/// Returns the targets of links within the repository, with their lines. Code is skipped.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(line, text)| {
        let targets = text.match_indices("](").filter_map(move |(at, opening)| {
            let is_code = text[..at].matches('`').count() % 2 == 1;
            let target = text[at + opening.len()..].split([')', ' ']).next()?;
            (!is_code && !is_elsewhere(target)).then_some(target)
        });
        targets.map(move |target| (line, target))
    })
}

fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.is_empty()
}

/// Returns the lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// Returns a path in a page as a path from the root; `None` if it is outside of the repository.
fn resolve(page: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(page.to_owned());
    }
    let whole = Path::new(page).parent()?.join(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// Whether a page has this heading. The headings of other files are not checked.
fn has_heading(files: &[File], path: &str, heading: &str) -> bool {
    let page = files.iter().find(|file| file.path == path && is_page(path));
    heading.is_empty() || page.is_none_or(|page| headings(&page.text).contains(heading))
}

/// Returns the headings of a page as anchors.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter(|(_, line)| line.starts_with('#'));
    titles.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
}

/// Returns the anchor: lower case, hyphens for spaces, and no other punctuation.
fn anchor(title: &str) -> String {
    let lower = title.to_lowercase().replace(' ', "-");
    lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(text: &str) -> Vec<String> {
        let other = "# Other page\n\n## What `it` does, and why\n\n```sh\n# no heading\n```\n";
        let files = [File::new("docs/page.md", text), File::new("docs/other.md", other)];
        let there = ["docs/page.md", "docs/other.md", "README.md", "docs/img/a.png"];
        leading_nowhere(&files, |path| there.contains(&path))
            .into_iter()
            .map(|finding| format!("{}: {}: {}", finding.line, finding.rule, finding.why))
            .collect()
    }

    #[test]
    fn links_to_what_is_there_are_fine() {
        let text = "[a](other.md) ![b](img/a.png) [c](../README.md)\n\
                    [d](other.md#what-it-does-and-why) [e](https://example.org/x.md)\n# Here\n[f](#here)\n";
        assert_eq!(nowhere(text), [""; 0]);
    }

    #[test]
    fn a_link_to_no_file_is_found_with_its_line() {
        let found = nowhere("fine\n[a](gone.md) [b](../docs/other.md) [c](sub/other.md)\n");
        let why = "the file does not exist";
        assert_eq!(
            found,
            [
                format!("2: no broken links (`gone.md`): {why}"),
                format!("2: no broken links (`sub/other.md`): {why}"),
            ]
        );
    }

    #[test]
    fn a_link_to_no_heading_is_found_and_comments_in_code_are_none() {
        let found = nowhere("[a](other.md#why)\n[b](other.md#no-heading)\n[c](#nothing)\n");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found.iter().all(|found| found.ends_with("the heading does not exist")),
            "{found:?}"
        );
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(nowhere("```\n[a](gone.md)\n```\nas `[a](gone.md)` says\n"), [""; 0]);
    }
}
