//! Problem keys: the words that identify a problem, without those that only say that there is one.

use super::phrases::PHRASES;
use crate::stream::news::WatchdogSignal;

/// The maximum number of words in a key.
const MAX_WORDS: usize = 8;

/// The maximum length of a word in characters: some languages do not use spaces.
const MAX_WORD: usize = 16;

/// The key of the problem in this text. Order, number, case and punctuation do not matter.
pub(crate) fn key(signal: WatchdogSignal, text: &str) -> String {
    let mut words: Vec<String> = text
        .to_lowercase()
        .replace('’', "'")
        .split(|c: char| !c.is_alphabetic() && c != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| word.chars().nth(1).is_some() && !PHRASES.is_common(word))
        .map(singular)
        .filter(|word| !PHRASES.is_common(word))
        .map(|word| word.chars().take(MAX_WORD).collect())
        .collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(MAX_WORDS);
    let name = match signal {
        WatchdogSignal::GivingUp => "giving_up",
        WatchdogSignal::Asking => "asking",
        WatchdogSignal::Repetition => "repetition",
        WatchdogSignal::ToolErrors => "tool_errors",
        WatchdogSignal::Compaction => "compaction",
    };
    [name].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn singular(word: &str) -> &str {
    match word.strip_suffix("'s").or_else(|| word.strip_suffix('s')) {
        Some(short) if short.len() > 2 && !short.ends_with(['s', 'u', 'i']) => short,
        Some(_) | None => word,
    }
}
