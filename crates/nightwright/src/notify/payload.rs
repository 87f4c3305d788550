//! What is sent, for each kind of address.

use std::fmt::Write as _;

use nightwright_core::notice::{Kind, Notice};
use ring::hmac::{self, HMAC_SHA256, Key};
use serde_json::json;
use serde_json::value::RawValue;

use super::address::{Address, Service};
use crate::hex::hex;

/// Discord takes no more, in units of UTF-16.
const DISCORD_MOST: usize = 2_000;
/// Slack cuts longer texts into pieces, in characters.
const SLACK_MOST: usize = 3_500;
/// ntfy makes a file of a longer text, in bytes.
const NTFY_MOST: usize = 4_000;
/// A larger event is left out: whoever wants it has the journal.
const EVENT_MOST: usize = 64 << 10;
/// No word of an encoded header is longer.
const WORD_MOST: usize = 75;

/// The version of what a webhook gets.
const VERSION: u32 = 1;

/// What is sent.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) kind: Kind,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// What this address is sent of a notice; `raw` is the line of the journal it is about.
    pub(super) fn of(address: &Address, notice: &Notice, raw: Option<&[u8]>) -> Self {
        let (headers, body) = match address.service() {
            Service::Ntfy => ntfy(notice),
            Service::Slack => slack(notice),
            Service::Discord => discord(notice),
            Service::Webhook => webhook(address, notice, raw),
        };
        let mut request = Self { kind: notice.kind, headers, body };
        if let Some(token) = address.token() {
            request.headers.push(("Authorization", format!("Bearer {token}")));
        }
        request
    }
}

type Parts = (Vec<(&'static str, String)>, Vec<u8>);

fn ntfy(notice: &Notice) -> Parts {
    let headers = vec![
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Title", header(&notice.title)),
        ("Priority", notice.kind.priority().name().to_owned()),
        ("Tags", notice.kind.tags().join(",")),
    ];
    (headers, cut(&notice.text, NTFY_MOST, char::len_utf8).into_bytes())
}

fn slack(notice: &Notice) -> Parts {
    // With these three escaped nothing in the text is a link or calls anybody.
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = cut(&notice.text, SLACK_MOST, |_| 1);
    json_of(&json!({ "text": format!("*{}*\n{}", escaped(&notice.title), escaped(&text)) }))
}

fn discord(notice: &Notice) -> Parts {
    let text = format!("**{}**\n{}", notice.title, notice.text);
    let content = cut(&text, DISCORD_MOST, char::len_utf16);
    // An agent that writes `@everyone` calls nobody.
    json_of(&json!({ "content": content, "allowed_mentions": { "parse": [] } }))
}

fn webhook(address: &Address, notice: &Notice, raw: Option<&[u8]>) -> Parts {
    let (mut headers, body) = json_of(&json!({
        "version": VERSION,
        "run": notice.run,
        "notice": {
            "id": notice.id(),
            "kind": notice.kind.name(),
            "priority": notice.kind.priority().name(),
            "tags": notice.kind.tags(),
            "title": notice.title,
            "text": notice.text,
            "at": notice.at,
            "seq": notice.seq,
        },
        "event": null,
    }));
    let body = with_event(body, raw);
    headers.push(("Idempotency-Key", notice.id()));
    if let Some(secret) = address.secret() {
        let signature = hex(hmac::sign(&Key::new(HMAC_SHA256, secret.as_bytes()), &body).as_ref());
        headers.push(("X-Nightwright-Signature", format!("sha256={signature}")));
    }
    (headers, body)
}

fn json_of(value: &serde_json::Value) -> Parts {
    let headers = vec![("Content-Type", "application/json".to_owned())];
    (headers, value.to_string().into_bytes())
}

/// Puts the event in its place as it stands in the journal, but for its checksum, which is one of
/// that line and not of this text.
fn with_event(body: Vec<u8>, raw: Option<&[u8]>) -> Vec<u8> {
    const EMPTY: &str = "\"event\":null";
    let event = raw.filter(|raw| raw.len() <= EVENT_MOST).and_then(without_checksum);
    let (Some(event), Ok(text)) = (event, str::from_utf8(&body)) else { return body };
    // The first one is ours: members come in the order of their names.
    match text.split_once(EMPTY) {
        Some((before, after)) => format!("{before}\"event\":{event}{after}").into_bytes(),
        None => body,
    }
}

fn without_checksum(raw: &[u8]) -> Option<String> {
    let text = str::from_utf8(raw).ok()?;
    let (event, _) = text.rsplit_once(",\"crc\":\"")?;
    let event = format!("{event}}}");
    // Whatever it is, what is sent is JSON.
    serde_json::from_str::<&RawValue>(&event).ok()?;
    Some(event)
}

/// The text as long as it may be.
fn cut(text: &str, most: usize, size: impl Fn(char) -> usize) -> String {
    if text.chars().map(&size).sum::<usize>() <= most {
        return text.to_owned();
    }
    let room = most - size('…');
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += size(*c);
        used <= room
    });
    let mut kept: String = kept.collect();
    kept.push('…');
    kept
}

/// The value of a header. What is not ASCII is written as encoded words (RFC 2047), which ntfy
/// reads; none is longer than it may be, and none ends within a character.
fn header(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if plain && !text.contains("=?") {
        return text.to_owned();
    }
    let (begin, end) = ("=?UTF-8?Q?", "?=");
    let mut words = vec![begin.to_owned()];
    for c in text.chars() {
        let mut encoded = String::new();
        if c.is_ascii_alphanumeric() {
            encoded.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string can't fail.
                let _ = write!(encoded, "={byte:02X}");
            }
        }
        let full = |word: &String| word.len() + encoded.len() + end.len() > WORD_MOST;
        if words.last().is_some_and(full) {
            words.push(begin.to_owned());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    words.iter().map(|word| format!("{word}{end}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_ascii_stays_as_it_is() {
        assert_eq!(header("shop: iteration 3, $0.42"), "shop: iteration 3, $0.42");
    }

    #[test]
    fn other_characters_are_encoded_in_words_that_are_not_too_long() {
        assert_eq!(header("größer"), "=?UTF-8?Q?gr=C3=B6=C3=9Fer?=");
        assert_eq!(header("=?x"), "=?UTF-8?Q?=3D=3Fx?=");
        assert_eq!(header("a\nb"), "=?UTF-8?Q?a=0Ab?=");
        let long = header(&"日本語 ".repeat(20));
        let words: Vec<_> = long.split(' ').collect();
        assert!(words.len() > 5 && words.iter().all(|word| word.len() <= WORD_MOST), "{long}");
        for word in words {
            let inner = word.strip_prefix("=?UTF-8?Q?").unwrap().strip_suffix("?=").unwrap();
            let bytes: Vec<u8> =
                inner.split('=').skip(1).map(|b| u8::from_str_radix(b, 16).unwrap()).collect();
            String::from_utf8(bytes).expect("whole characters");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("abc", 3, |_| 1), "abc");
        assert_eq!(cut("abcd", 3, |_| 1), "ab…");
        assert_eq!(cut("ööö", 5, char::len_utf8), "ö…");
        assert_eq!(cut("😀😀", 3, char::len_utf16), "😀…");
    }

    #[test]
    fn the_event_is_that_of_the_journal_without_its_checksum() {
        let raw = br#"{"v":1,"seq":3,"text":",\"crc\":\"x","crc":"00000000"}"#;
        let body = with_event(br#"{"event":null,"run":"r"}"#.to_vec(), Some(raw));
        let text = String::from_utf8(body).unwrap();
        assert_eq!(text, r#"{"event":{"v":1,"seq":3,"text":",\"crc\":\"x"},"run":"r"}"#);
        let large = format!("{{\"text\":\"{}\",\"crc\":\"0\"}}", "x".repeat(EVENT_MOST));
        for odd in [Some(large.as_bytes()), Some(b"not json,\"crc\":\"".as_slice()), None] {
            assert_eq!(with_event(br#"{"event":null}"#.to_vec(), odd), br#"{"event":null}"#);
        }
    }
}
