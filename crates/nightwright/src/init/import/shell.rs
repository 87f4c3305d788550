//! Assignments in shell files, as far as they can be read without running them.

/// The value of a variable: the last assignment to it. `None` if there is none; an error if it
/// could only be known by running the file.
pub(super) fn value(text: &str, name: &str) -> Option<Result<String, String>> {
    let mut assigned = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        line.strip_prefix(name)?.strip_prefix('=')
    });
    Some(literal(assigned.next_back()?.trim(), name))
}

/// A number; zero and the empty text mean that there is none.
pub(super) fn number(text: &str, name: &str) -> Result<Option<u32>, String> {
    match value(text, name).transpose()?.as_deref() {
        None | Some("" | "0") => Ok(None),
        Some(value) => match value.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("`{name}` is `{value}`, not a whole number")),
        },
    }
}

/// A text; the empty one means that there is none.
pub(super) fn words(text: &str, name: &str) -> Result<Option<String>, String> {
    Ok(value(text, name).transpose()?.filter(|value| !value.trim().is_empty()))
}

fn literal(right: &str, name: &str) -> Result<String, String> {
    let unknown = || format!("`{name}` cannot be read without running the file");
    if let Some(rest) = right.strip_prefix('\'') {
        return rest.split_once('\'').map(|(value, _)| value.to_owned()).ok_or_else(unknown);
    }
    let value = match right.strip_prefix('"') {
        // The last quote of the line: the default itself may have quotes with a `\` before them.
        Some(rest) => rest.rsplit_once('"').ok_or_else(unknown)?.0,
        None => right.split(" #").next().unwrap_or_default().trim(),
    };
    // `${NAME:-default}`: what holds unless the environment says otherwise.
    let value = match value.strip_prefix(&format!("${{{name}:-")) {
        Some(rest) => rest.strip_suffix('}').ok_or_else(unknown)?,
        None => value,
    };
    let value = value.replace("\\\"", "\"");
    if value.contains(['$', '`', '\\']) { Err(unknown()) } else { Ok(value) }
}
