//! `cargo xtask bench`: speed measurements, each compared with a common program.
//!
//! A duration alone says little on a shared machine. Every figure is a ratio to a reference that is
//! measured in the same minute, in alternating rounds; the median counts. The judgement benchmark
//! counts outcomes instead of seconds.

mod bench_env;
mod decode;
mod fingerprint;
pub(crate) mod judgement;
mod look;
mod material;
mod measure;
mod sandbox;
mod stream;

use std::path::Path;

/// The size of a stream from a day of work.
const STREAM_MEGABYTES: u64 = 1000;
/// The amount of data that is decoded from memory.
const DECODE_MEGABYTES: u64 = 500;

/// The number of runs of a few months.
const LOOK_RUNS: u64 = 1_000;

/// The number of files in a large repository.
const FINGERPRINT_FILES: u64 = 100_000;

/// The benchmark to run, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    /// A whole run whose agent prints this amount of data.
    Stream { megabytes: u64 },
    /// Decoding of lines into messages, without the rest of a run.
    Decode { megabytes: u64 },
    /// Whether runs end with the expected outcome.
    Judgement(judgement::Selection),
    /// The survey of a project with this number of files.
    Fingerprint { files: u64 },
    /// The commands that show past runs, with this number of runs.
    Look { runs: u64 },
    /// The time that a sandbox adds to each iteration.
    Sandbox,
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
            ["listing"] => Ok(Self::Look { runs: LOOK_RUNS }),
            ["listing", "--runs", runs] => Ok(Self::Look { runs: count("--runs", runs)? }),
            ["sandbox"] => Ok(Self::Sandbox),
            [] => Err("`bench` needs a name: `stream`, `decode`, `fingerprint`, \
                       `listing`, `sandbox` or `judgement`"
                .to_owned()),
            [other, ..] => Err(format!(
                "`bench` takes `judgement`, `stream` or `decode` and `--megabytes N`, \
                 `fingerprint` and `--files N`, `listing` and `--runs N`, or `sandbox`, not \
                 `{other}` or any other argument"
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
        Bench::Sandbox => sandbox::run(root),
        Bench::Fingerprint { files } => fingerprint::run(root, *files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_gigabyte_by_default() {
        assert_eq!(Bench::parse(&["stream"]), Ok(Bench::Stream { megabytes: 1000 }));
        let short = Ok(Bench::Stream { megabytes: 5 });
        assert_eq!(Bench::parse(&["stream", "--megabytes", "5"]), short);
        assert_eq!(Bench::parse(&["decode"]), Ok(Bench::Decode { megabytes: 500 }));
        let files = Ok(Bench::Fingerprint { files: 100_000 });
        assert_eq!(Bench::parse(&["fingerprint"]), files);
        assert_eq!(Bench::parse(&["listing"]), Ok(Bench::Look { runs: 1_000 }));
        for wrong in [&[][..], &["stram"], &["stream", "5"], &["stream", "--megabytes", "0"]] {
            assert!(Bench::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
