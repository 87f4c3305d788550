//! `cargo xtask bench`: how fast it is, beside something that everybody has.
//!
//! A time alone says nothing on a machine that others use too. Every figure is a ratio to a
//! reference that was measured in the same minute, a round of each in turn; of the rounds the
//! median counts. The judgement benchmark counts endings instead of seconds.

mod decode;
mod fingerprint;
mod hermit;
pub(crate) mod judgement;
mod look;
mod material;
mod measure;
mod stream;

use std::path::Path;

/// A stream as long as that of a day of work.
const STREAM_MEGABYTES: u64 = 1000;
/// What is decoded from memory.
const DECODE_MEGABYTES: u64 = 500;

/// The runs of some months.
const LOOK_RUNS: u64 = 1_000;

/// A large repository.
const FINGERPRINT_FILES: u64 = 100_000;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    /// A whole run whose agent prints so much.
    Stream { megabytes: u64 },
    /// Lines to messages, and nothing else.
    Decode { megabytes: u64 },
    /// Whether runs end as they should.
    Judgement(judgement::Selection),
    /// A look at a project of so many files.
    Fingerprint { files: u64 },
    /// What looks back at so many runs.
    Look { runs: u64 },
}

impl Bench {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let count = |option: &str, text: &str| {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("`{option}` takes a number from 1 on, not `{text}`"))
        };
        let number = |text: &str| count("--megabytes", text);
        match words {
            ["stream"] => Ok(Self::Stream { megabytes: STREAM_MEGABYTES }),
            ["stream", "--megabytes", count] => Ok(Self::Stream { megabytes: number(count)? }),
            ["decode"] => Ok(Self::Decode { megabytes: DECODE_MEGABYTES }),
            ["decode", "--megabytes", count] => Ok(Self::Decode { megabytes: number(count)? }),
            ["judgement", rest @ ..] => judgement::Selection::parse(rest).map(Self::Judgement),
            ["fingerprint"] => Ok(Self::Fingerprint { files: FINGERPRINT_FILES }),
            ["fingerprint", "--files", files] => {
                Ok(Self::Fingerprint { files: count("--files", files)? })
            }
            ["look"] => Ok(Self::Look { runs: LOOK_RUNS }),
            ["look", "--runs", runs] => Ok(Self::Look { runs: count("--runs", runs)? }),
            [] => Err("`bench` needs to know what: `stream`, `decode`, `fingerprint`, \
                       `look` or `judgement`"
                .to_owned()),
            [other, ..] => Err(format!(
                "`bench` takes `judgement`, `stream` or `decode` and `--megabytes N`, \
                 `fingerprint` and `--files N`, or `look` and `--runs N`, not `{other}` or anything beside it"
            )),
        }
    }
}

pub(crate) fn run(root: &Path, bench: &Bench) -> Result<(), String> {
    match bench {
        Bench::Stream { megabytes } => stream::run(root, *megabytes),
        Bench::Decode { megabytes } => decode::run(root, *megabytes),
        Bench::Judgement(selection) => judgement::run(root, selection),
        Bench::Look { runs } => look::run(root, *runs),
        Bench::Fingerprint { files } => fingerprint::run(root, *files),
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
        let files = Ok(Bench::Fingerprint { files: 100_000 });
        assert_eq!(Bench::parse(&["fingerprint"]), files);
        assert_eq!(Bench::parse(&["look"]), Ok(Bench::Look { runs: 1_000 }));
        for wrong in [&[][..], &["stram"], &["stream", "5"], &["stream", "--megabytes", "0"]] {
            assert!(Bench::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
