//! `cargo xtask bench`: how fast it is, beside something that everybody has.
//!
//! A time alone says nothing on a machine that others use too. Every figure is a ratio to a
//! reference that was measured in the same minute, a round of each in turn; of the rounds the
//! median counts.

mod decode;
mod hermit;
mod material;
mod measure;
mod stream;

use std::path::Path;

/// A stream as long as that of a day of work.
const STREAM_MEGABYTES: u64 = 1000;
/// What is decoded from memory.
const DECODE_MEGABYTES: u64 = 500;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    /// A whole run whose agent prints so much.
    Stream { megabytes: u64 },
    /// Lines to messages, and nothing else.
    Decode { megabytes: u64 },
}

impl Bench {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("`--megabytes` takes a number from 1 on, not `{text}`"))
        };
        match words {
            ["stream"] => Ok(Self::Stream { megabytes: STREAM_MEGABYTES }),
            ["stream", "--megabytes", count] => Ok(Self::Stream { megabytes: number(count)? }),
            ["decode"] => Ok(Self::Decode { megabytes: DECODE_MEGABYTES }),
            ["decode", "--megabytes", count] => Ok(Self::Decode { megabytes: number(count)? }),
            [] => Err("`bench` needs to know what: `stream` or `decode`".to_owned()),
            [other, ..] => Err(format!(
                "`bench` takes `stream` or `decode` and `--megabytes N`, not `{other}` or \
                 anything beside it"
            )),
        }
    }
}

pub(crate) fn run(root: &Path, bench: Bench) -> Result<(), String> {
    match bench {
        Bench::Stream { megabytes } => stream::run(root, megabytes),
        Bench::Decode { megabytes } => decode::run(root, megabytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_gigabyte_unless_told_otherwise() {
        assert_eq!(Bench::parse(&["stream"]), Ok(Bench::Stream { megabytes: 1000 }));
        let short = Ok(Bench::Stream { megabytes: 5 });
        assert_eq!(Bench::parse(&["stream", "--megabytes", "5"]), short);
        assert_eq!(Bench::parse(&["decode"]), Ok(Bench::Decode { megabytes: 500 }));
        for wrong in [&[][..], &["stram"], &["stream", "5"], &["stream", "--megabytes", "0"]] {
            assert!(Bench::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
