//! Events and fields that no supported version of the program prints: counted, and named once each.

/// The number of kinds that are named. The first few suffice to show that the program has changed.
const MAX_KINDS: usize = 16;

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// The unknown events and fields so far.
#[derive(Debug, Default)]
pub(super) struct UnknownEvents {
    events: u64,
    kinds: Vec<String>,
}

impl UnknownEvents {
    /// Records an event of an unknown kind.
    pub(super) fn event(&mut self, kind: &str) {
        self.events += 1;
        self.name(kind.to_owned());
    }

    /// Records the unknown fields of a result, if it has any.
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
        kind.truncate(kind.floor_char_boundary(MAX_NAME));
        if self.kinds.len() < MAX_KINDS && !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }
}
