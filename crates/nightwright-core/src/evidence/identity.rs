//! The key that identifies a blocker: a checksum of its text. It tells texts apart and protects
//! nothing.

use crate::stream::report::Blocker;

/// The blocker with this text. Blanks around it don't make it another one.
pub fn blocker(text: &str) -> Blocker {
    let text = text.trim();
    let key = format!("{:08x}", crc32fast::hash(text.as_bytes()));
    Blocker { key, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_a_text_make_no_other_blocker_of_it() {
        let plain = blocker("abc");
        assert_eq!((&*plain.key, &*plain.text), ("352441c2", "abc"));
        assert_eq!(blocker(" \r\n abc\t"), plain);
        assert_ne!(blocker("Abc").key, plain.key);
    }
}
