//! Resets the boxes of a checklist.

/// Returns the checklist with all boxes open. Boxes in code fences are examples and stay as they
/// are.
pub fn uncheck_all(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut anew = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), Some(_) | None) | (None, None) => {}
        }
        match checked_at(line).filter(|_| fence.is_none()) {
            Some(place) => {
                anew.push_str(&line[..place]);
                anew.push(' ');
                anew.push_str(&line[place + 1..]);
            }
            None => anew.push_str(line),
        }
    }
    anew
}

/// Returns the number of boxes that [`uncheck_all`] would open.
pub fn checked_count(text: &str) -> usize {
    let anew = uncheck_all(text);
    text.lines().zip(anew.lines()).filter(|(before, after)| before != after).count()
}

/// Returns the position of the mark in the box of a line, if the box is not open.
fn checked_at(line: &str) -> Option<usize> {
    let item = line.trim_start();
    let digits = item.bytes().take_while(u8::is_ascii_digit).count();
    let after = match item.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => &item[digits + 1..],
        Some(b'-' | b'*' | b'+') if digits == 0 => &item[1..],
        Some(_) | None => return None,
    };
    let body = after.trim_start();
    match body.as_bytes() {
        // A space or nothing follows the box: `[x](address)` is a link.
        [b'[', b'x' | b'X' | b'~', b']', rest @ ..]
            if body.len() < after.len() && rest.first().is_none_or(u8::is_ascii_whitespace) =>
        {
            Some(line.len() - body.len() + 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_is_opened_and_nothing_else_is_touched() {
        let text = "# Töne\n- [x] one\n  * [X] two\n+ [~] three\n1. [x] four\n12) [x] five\n- [ ] \
                    six\n- [x](a link)\n-[x] no item\n[x] no item\n- y [x]\n```\n- [x] an \
                    example\n```\n- [x] last";
        let anew = "# Töne\n- [ ] one\n  * [ ] two\n+ [ ] three\n1. [ ] four\n12) [ ] five\n- [ ] \
                    six\n- [x](a link)\n-[x] no item\n[x] no item\n- y [x]\n```\n- [x] an \
                    example\n```\n- [ ] last";
        assert_eq!(uncheck_all(text), anew);
        assert_eq!(uncheck_all(anew), anew);
        assert_eq!((checked_count(text), checked_count(anew)), (6, 0));
        assert_eq!(uncheck_all(""), "");
    }
}
