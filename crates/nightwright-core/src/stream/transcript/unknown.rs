//! What no version of the program that we know of prints: counted, and named once each.

/// So many kinds are named: the first of them say that the program has moved on.
const KINDS_MAX: usize = 16;

/// The most of a name that is kept, in bytes.
const NAME_MAX: usize = 64;

/// What was unknown so far.
#[derive(Debug, Default)]
pub(super) struct UnknownEvents {
    events: u64,
    kinds: Vec<String>,
}

impl UnknownEvents {
    /// An event of an unknown kind.
    pub(super) fn event(&mut self, kind: &str) {
        self.events += 1;
        self.name(kind.to_owned());
    }

    /// The unknown fields of a result, if it has any.
    pub(super) fn fields(&mut self, fields: &[String]) {
        self.events += u64::from(!fields.is_empty());
        for field in fields {
            self.name(format!("result.{field}"));
        }
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn into_kinds(self) -> Vec<String> {
        self.kinds
    }

    fn name(&mut self, mut kind: String) {
        kind.truncate(kind.floor_char_boundary(NAME_MAX));
        if self.kinds.len() < KINDS_MAX && !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }
}
