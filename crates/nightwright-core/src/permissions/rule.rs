//! Syntax of the rules for tools: `Tool` or `Tool(specifier)`.

/// Returns what is wrong with a rule; `None` if the agent program can read it.
///
/// Parentheses inside a quotation need not be balanced, so a specifier with quotes is not examined
/// further.
pub fn problem(rule: &str) -> Option<&'static str> {
    let rule = rule.trim();
    let (name, rest) = rule.split_at(rule.find('(').unwrap_or(rule.len()));
    if name.is_empty() {
        return Some("it does not begin with the name of a tool");
    }
    if name.starts_with('-') {
        return Some("a tool name cannot begin with `-`");
    }
    if name.contains(|c: char| c.is_whitespace() || "),;\"'".contains(c)) {
        return Some("a tool name cannot contain such characters");
    }
    let specifier = rest.strip_prefix('(')?;
    let Some(specifier) = specifier.strip_suffix(')') else {
        return Some("it does not end with `)`");
    };
    if specifier.trim().is_empty() {
        return Some("the parentheses are empty");
    }
    let is_plain = !specifier.contains(['"', '\'', '\\']);
    (is_plain && !is_balanced(specifier)).then_some("its parentheses are not balanced")
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_tool_with_or_without_a_specifier() {
        for good in [
            "Bash",
            "mcp__github__get_issue",
            "Bash(npm install:*)",
            "WebFetch(domain:example.org)",
            "Edit(//tmp/a b/**)",
            "Bash(f() { true; })",
            "Bash(echo ':)')",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, why) in [
            ("", "name of a tool"),
            ("(ls)", "name of a tool"),
            ("--evil", "`-`"),
            ("bogus(", "end with"),
            ("Bash(kubectl get:*", "end with"),
            ("Bash(kubectl get:*))", "balanced"),
            ("Bash(ls:*), Bash(cat:*)", "balanced"),
            ("Bash Edit", "characters"),
            ("Bash)", "characters"),
            ("Bash( )", "empty"),
        ] {
            let problem = problem(bad).unwrap_or_default();
            assert!(problem.contains(why), "{bad}: {problem}");
        }
    }
}
