//! Reads assignments in shell files, without running them.

/// Returns the value of the last assignment to a variable; `None` if there is none. Fails if only
/// running the file could determine the value.
pub(super) fn value(text: &str, name: &str) -> Option<Result<String, String>> {
    let mut assigned = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        line.strip_prefix(name)?.strip_prefix('=')
    });
    Some(literal(assigned.next_back()?.trim(), name))
}

fn literal(right: &str, name: &str) -> Result<String, String> {
    let unknown = || format!("nightwright does not run the file to read `{name}`");
    if let Some(rest) = right.strip_prefix('\'') {
        return rest.split_once('\'').map(|(value, _)| value.to_owned()).ok_or_else(unknown);
    }
    let value = match right.strip_prefix('"') {
        // Searches for the last quote of the line, because the default may contain quotes escaped
        // with `\`.
        Some(rest) => rest.rsplit_once('"').ok_or_else(unknown)?.0,
        None => right.split(" #").next().unwrap_or_default().trim(),
    };
    // `${NAME:-default}`: the default applies unless the environment sets the variable.
    let value = match value.strip_prefix(&format!("${{{name}:-")) {
        Some(rest) => rest.strip_suffix('}').ok_or_else(unknown)?,
        None => value,
    };
    let value = value.replace("\\\"", "\"");
    if value.contains(['$', '`', '\\']) { Err(unknown()) } else { Ok(value) }
}
