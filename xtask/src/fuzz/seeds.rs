//! The seeds of the fuzzer: recordings of the agent, and a journal written by nightwright.
//!
//! The file of each target defines the meaning of its first bytes; this module adds them. The seeds
//! are generated from existing files and are not part of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{self, cargo};

/// Messages about the reset of a limit; the recordings contain only one form.
const LIMITS: [&str; 4] = [
    "You've hit your 5-hour limit · resets 10:05pm (UTC)",
    "weekly limit · resets Nov 18, 8:05pm (UTC)",
    "hit your limit · resets 3am (UTC)",
    "Claude AI usage limit reached|1999999999",
];
/// The evening of 15 November 2026, in Unix seconds.
const EVENING: i64 = 1_794_773_100;

/// Control sequences for terminals; in recordings they are always escaped.
const SEQUENCES: [&str; 4] = [
    "\u{1b}[1;31mred\u{1b}[0m \u{1b}[?25l\u{1b}(B\u{1b}c",
    "\u{1b}]0;title\u{7} \u{1b}]8;;http://x.y/\u{1b}\\here \u{1b}Pq#0\u{1b}\\",
    "\u{9b}31mx\u{9d}0;t\u{9c}y\u{90}z",
    "a\u{202e}b\u{2066}c\u{200f}\u{61c}\r\n10%\r20%",
];

/// Strings in the form of a secret, or of a part of one.
const SECRETS: [&str; 5] = [
    "see hunter2hunter2 and pa\\\"ss\\\\wo/rd-9 \\u00fc-end\n",
    "{\"text\":\"\\u0068unter2hunter2\\npa\\u0022ss\",\"n\":12345678}\n",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADAN\n-----END RSA PRIVATE KEY-----\n",
    "Authorization: Bearer abcdef0123456789 https://me:hunter2@host/ x-api-key: abc12345\n",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK AKIAA1B2A1B2A1B2A1B2 \\\\\\\"\n",
];

/// The fuzzer tries no input longer than its longest seed, and short inputs are faster.
const MAX_SEED_BYTES: u64 = 32 << 10;

/// Writes the seeds of a target into its corpus.
pub(super) fn plant(root: &Path, target: &str, corpus: &Path) -> Result<(), String> {
    let written = |error| format!("cannot write to {}: {error}", corpus.display());
    fs::create_dir_all(corpus).map_err(written)?;
    for (number, seed) in seeds(root, target)?.into_iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed).map_err(written)?;
    }
    Ok(())
}

fn seeds(root: &Path, target: &str) -> Result<Vec<Vec<u8>>, String> {
    let after = |head: &[u8], texts: Vec<Vec<u8>>| {
        texts.into_iter().map(|text| [head, &text].concat()).collect::<Vec<_>>()
    };
    let strings = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    Ok(match target {
        // A cap of 2 KiB, strings of 32 bytes, and chunks of several sizes.
        "lines" => after(&[128, 16, 255, 1, 17, 0, 100, 200, 3, 50], recorded(root)?),
        // A work attempt that exits by itself with code 0, in chunks of 256 bytes.
        "stream" => after(&[7, 0b1_1100, 255], recorded(root)?),
        "words" => spoken(root)?,
        "journal" => journals(root)?,
        "reset" => after(&EVENING.to_le_bytes(), strings(&LIMITS)),
        "display" => {
            let mut seeds = after(&[80], strings(&SEQUENCES));
            seeds.extend(after(&[80], recorded(root)?));
            seeds
        }
        // One level of JSON, and chunks of several sizes.
        "redact" => {
            let mut seeds = after(&[0, 1, 7, 40, 200], strings(&SECRETS));
            seeds.extend(after(&[1, 3, 17, 64, 255], recorded(root)?));
            seeds
        }
        // The input is a structure, so no text can serve as a seed.
        _ => Vec::new(),
    })
}

/// Returns the output of the agent in each recording, except the longest ones.
fn recorded(root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let folder = root.join("crates/nightwright-core/tests/fixtures/claude");
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path().join("stdout.ndjson");
        if path.metadata().is_ok_and(|found| (1..=MAX_SEED_BYTES).contains(&found.len())) {
            texts.push(fs::read(&path).map_err(unreadable)?);
        }
    }
    if texts.is_empty() { Err(format!("{} is empty", folder.display())) } else { Ok(texts) }
}

/// Returns the agent's messages at the end of a turn.
fn spoken(root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let path = root.join("crates/nightwright-core/src/watchdog/corpus.txt");
    let corpus = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let words = corpus.lines().filter_map(|line| line.split_once('|'));
    Ok(words.map(|(_, words)| words.replace("\\n", "\n").into_bytes()).collect())
}

/// Returns a journal, the same without checksums, which the target adds, and damaged versions.
fn journals(root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let journal = demonstrated(root)?;
    let mut bare = Vec::new();
    for line in journal.lines() {
        let body = line.rsplit_once(",\"crc\":").map_or(line, |(body, _)| body);
        bare.push([b"\x01\xff", body.as_bytes()].concat());
    }
    let all: Vec<_> = bare.iter().map(|line| line[2..].to_vec()).collect();
    let mut seeds = vec![
        [b"\x00\xff", journal.as_bytes()].concat(),
        [b"\x01\xff".to_vec(), all.join(&b'\n')].concat(),
        b"\x02\xff\x10\x00\x00\x00abc".to_vec(),
    ];
    seeds.append(&mut bare);
    Ok(seeds)
}

/// Returns the journal of a demo with waits, retries, a rejected claim and a completion.
fn demonstrated(root: &Path) -> Result<String, String> {
    let folder = root.join("fuzz/target/demo");
    let failed = |error| format!("cannot prepare {}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(folder.join("tmp")).map_err(failed)?;
    let mut command = cargo(root, &["run", "--quiet", "--package", "nightwright", "--", "demo"]);
    command.env("NIGHTWRIGHT_STATE_DIR", folder.join("state")).env("TMPDIR", folder.join("tmp"));
    program::stdout(&mut command)?;
    find(&folder.join("state"), "journal.jsonl")
        .and_then(|path| fs::read_to_string(path).ok())
        .ok_or_else(|| "the demonstration left no journal".to_owned())
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find(&path, name) } else { path.ends_with(name).then_some(path) }
    })
}
