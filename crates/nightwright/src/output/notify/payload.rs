//! The request for a notification, in the format of each service.

use std::fmt::Write as _;

use nightwright_core::notification::{Notification, NotificationKind};
use ring::hmac::{self, HMAC_SHA256, Key};
use serde_json::json;
use serde_json::value::RawValue;

use super::address::{Address, NotifyService};
use crate::hex::hex;

/// The maximum length of a Discord message, in UTF-16 code units.
const MAX_DISCORD_UNITS: usize = 2_000;
/// Slack splits longer messages, in characters.
const MAX_SLACK_CHARS: usize = 3_500;
/// ntfy turns a longer message into an attachment, in bytes.
const MAX_NTFY_BYTES: usize = 4_000;
/// The maximum size of an included event. A larger one is only in the journal.
const MAX_EVENT_BYTES: usize = 64 << 10;
/// The maximum length of an encoded word in a header (RFC 2047).
const MAX_ENCODED_WORD: usize = 75;

/// The version of the JSON that a webhook receives.
const VERSION: u32 = 1;

/// The headers and the body of a request.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct NotifyRequest {
    pub(super) kind: NotificationKind,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl NotifyRequest {
    /// Creates the request for a notification. `raw` is the journal line of its event.
    pub(super) fn of(address: &Address, notification: &Notification, raw: Option<&[u8]>) -> Self {
        let (headers, body) = match address.service() {
            NotifyService::Ntfy => ntfy(notification),
            NotifyService::Slack => slack(notification),
            NotifyService::Discord => discord(notification),
            NotifyService::Webhook => webhook(address, notification, raw),
        };
        let mut request = Self { kind: notification.kind, headers, body };
        if let Some(token) = address.token() {
            request.headers.push(("Authorization", format!("Bearer {token}")));
        }
        request
    }
}

type RequestParts = (Vec<(&'static str, String)>, Vec<u8>);

fn ntfy(notification: &Notification) -> RequestParts {
    let headers = vec![
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Title", header(&notification.title)),
        ("Priority", notification.kind.priority().name().to_owned()),
        ("Tags", notification.kind.tags().join(",")),
    ];
    (headers, cut(&notification.text, MAX_NTFY_BYTES, char::len_utf8).into_bytes())
}

fn slack(notification: &Notification) -> RequestParts {
    // Escaping these characters disables links and mentions.
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = cut(&notification.text, MAX_SLACK_CHARS, |_| 1);
    json_of(&json!({ "text": format!("*{}*\n{}", escaped(&notification.title), escaped(&text)) }))
}

fn discord(notification: &Notification) -> RequestParts {
    let text = format!("**{}**\n{}", notification.title, notification.text);
    let content = cut(&text, MAX_DISCORD_UNITS, char::len_utf16);
    // Disables mentions, because the agent might write `@everyone`.
    json_of(&json!({ "content": content, "allowed_mentions": { "parse": [] } }))
}

fn webhook(address: &Address, notification: &Notification, raw: Option<&[u8]>) -> RequestParts {
    let (mut headers, body) = json_of(&json!({
        "version": VERSION,
        "run": notification.run,
        "notice": {
            "id": notification.id(),
            "kind": notification.kind.name(),
            "priority": notification.kind.priority().name(),
            "tags": notification.kind.tags(),
            "title": notification.title,
            "text": notification.text,
            "at": notification.at,
            "seq": notification.seq,
        },
        "event": null,
    }));
    let body = with_event(body, raw);
    headers.push(("Idempotency-Key", notification.id()));
    if let Some(secret) = address.secret() {
        let signature = hex(hmac::sign(&Key::new(HMAC_SHA256, secret.as_bytes()), &body).as_ref());
        headers.push(("X-Nightwright-Signature", format!("sha256={signature}")));
    }
    (headers, body)
}

fn json_of(value: &serde_json::Value) -> RequestParts {
    let headers = vec![("Content-Type", "application/json".to_owned())];
    (headers, value.to_string().into_bytes())
}

/// Inserts the event as in the journal, without its checksum, which is valid only for the whole
/// line.
fn with_event(body: Vec<u8>, raw: Option<&[u8]>) -> Vec<u8> {
    const EMPTY: &str = "\"event\":null";
    let event = raw.filter(|raw| raw.len() <= MAX_EVENT_BYTES).and_then(without_checksum);
    let (Some(event), Ok(text)) = (event, str::from_utf8(&body)) else { return body };
    // The first match is the right one, because members are sorted by name.
    match text.split_once(EMPTY) {
        Some((before, after)) => format!("{before}\"event\":{event}{after}").into_bytes(),
        None => body,
    }
}

fn without_checksum(raw: &[u8]) -> Option<String> {
    let text = str::from_utf8(raw).ok()?;
    let (event, _) = text.rsplit_once(",\"crc\":\"")?;
    let event = format!("{event}}}");
    // Make sure that the request stays valid JSON.
    serde_json::from_str::<&RawValue>(&event).ok()?;
    Some(event)
}

/// Truncates a string to the maximum size.
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

/// The value of a header. Text that is not ASCII becomes encoded words (RFC 2047), which ntfy
/// decodes. Each word respects the maximum length and contains only complete characters.
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
                // Writing to a string cannot fail.
                let _ = write!(encoded, "={byte:02X}");
            }
        }
        let full = |word: &String| word.len() + encoded.len() + end.len() > MAX_ENCODED_WORD;
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
        assert!(
            words.len() > 5 && words.iter().all(|word| word.len() <= MAX_ENCODED_WORD),
            "{long}"
        );
        for word in words {
            let inner = word.strip_prefix("=?UTF-8?Q?").unwrap().strip_suffix("?=").unwrap();
            let bytes: Vec<u8> =
                inner.split('=').skip(1).map(|b| u8::from_str_radix(b, 16).unwrap()).collect();
            String::from_utf8(bytes).expect("whole characters");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
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
        let large = format!("{{\"text\":\"{}\",\"crc\":\"0\"}}", "x".repeat(MAX_EVENT_BYTES));
        for odd in [Some(large.as_bytes()), Some(b"not json,\"crc\":\"".as_slice()), None] {
            assert_eq!(with_event(br#"{"event":null}"#.to_vec(), odd), br#"{"event":null}"#);
        }
    }
}
