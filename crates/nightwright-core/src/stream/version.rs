//! Versions of agent programs, and whether a version is supported.

use std::fmt;

/// A version of a program: three numbers, compared in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Parses the version at the start of a line such as `2.1.325 (Claude Code)`. Any text may
    /// follow the three numbers after a separator.
    pub fn parse(line: &str) -> Option<Self> {
        let word = line.split_whitespace().next()?;
        let word = word.strip_prefix('v').unwrap_or(word);
        // Build metadata and pre-release names are ignored.
        let numbers = word.split(['-', '+']).next()?;
        let mut numbers = numbers.split('.').map(number);
        let version = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

/// Parses a plain number: `parse` alone would accept a sign, too.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The range of versions whose streams were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedVersions {
    /// Older versions are rejected: they may lack required options.
    pub oldest: Version,
    /// Newer versions are used, with a warning.
    pub newest: Version,
}

/// The position of a version relative to the supported range, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionSupport {
    /// Older than the supported range.
    TooOld,
    /// Within the supported range.
    Covered,
    /// Newer than the supported range.
    Newer,
}

impl SupportedVersions {
    /// Compares a version with the range.
    pub fn support(&self, version: Version) -> VersionSupport {
        if version < self.oldest {
            VersionSupport::TooOld
        } else if version <= self.newest {
            VersionSupport::Covered
        } else {
            VersionSupport::Newer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_program_is_a_version() {
        let cases = [
            ("2.1.325 (Claude Code)", (2, 1, 325)),
            ("2.1.325", (2, 1, 325)),
            ("  v10.0.4\t(Claude Code)  ", (10, 0, 4)),
            ("2.2.0-beta.3 (Claude Code)", (2, 2, 0)),
            ("2.2.0+linux.x64", (2, 2, 0)),
        ];
        for (line, (major, minor, patch)) in cases {
            assert_eq!(Version::parse(line), Some(Version::new(major, minor, patch)), "{line}");
        }
    }

    #[test]
    fn other_text_is_not_parsed_as_a_version() {
        for line in [
            "",
            " ",
            "Claude Code 2.1.325",
            "2.1",
            "2.1.3.4",
            "2.1.x",
            "2..325",
            "2.1.",
            "+2.1.325",
            "2.-1.325",
            "2.1.99999999999",
            "2.1.325(Claude",
            "v",
            "vv2.1.3",
        ] {
            assert_eq!(Version::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let covered =
            SupportedVersions { oldest: Version::new(2, 1, 197), newest: Version::new(2, 1, 325) };
        let cases = [
            ("2.1.197", VersionSupport::Covered),
            ("2.1.325", VersionSupport::Covered),
            ("2.1.196", VersionSupport::TooOld),
            ("2.1.9", VersionSupport::TooOld),
            ("1.99.999", VersionSupport::TooOld),
            ("2.1.326", VersionSupport::Newer),
            ("2.10.0", VersionSupport::Newer),
            ("10.0.0", VersionSupport::Newer),
        ];
        for (text, standing) in cases {
            let version = Version::parse(text).unwrap();
            assert_eq!((covered.support(version), version.to_string()), (standing, text.into()));
        }
    }
}
