//! The output of the agent program when the provider fails, as recorded for each case.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::scene_end::ProviderFailure;

/// An error of the provider, with the values for the stream.
pub(super) struct ApiError {
    /// The message for the user.
    pub(super) text: String,
    /// The error's name on the synthetic message.
    pub(super) word: &'static str,
    pub(super) status: Option<u16>,
    /// The provider's name for it.
    pub(super) kind: Option<&'static str>,
    /// A more specific name, if it has one.
    pub(super) detail: Option<&'static str>,
    pub(super) terminal_reason: &'static str,
    pub(super) stop_reason: &'static str,
    /// The rate limit information, if any.
    pub(super) rate_limit: Option<Value>,
    /// Whether the program retries by itself before it fails.
    pub(super) retried: bool,
}

const TOO_MANY: &str =
    "API Error: Request rejected (429) · Number of requests has exceeded your rate limit";
const OVERLOADED: &str = "API Error: 529 Overloaded. This is a server-side issue, usually \
                          temporary — try again in a moment.";
const UNREACHABLE: &str = "API Error: Connection refused (ECONNREFUSED)";
const NO_CREDIT: &str = "Credit balance is too low";
const TOO_LONG: &str = "Prompt is too long · the request is ~1200000 tokens";
const DECLINED: &str = "API Error: The model's safeguards flagged this message. Try rephrasing \
                        the request in a new session or change your model.";
const TOO_MUCH: &str = "API Error: Claude's response exceeded the 128000 output token maximum.";

impl ApiError {
    pub(super) fn of(failure: &ProviderFailure, model: &str, now: Timestamp) -> Self {
        let invalid = |word, text: &str| Self::answer(400, word, "invalid_request_error", text);
        match failure {
            ProviderFailure::Limit(after) => usage_limit(*after, now),
            ProviderFailure::LimitUnknown => Self {
                rate_limit: Some(json!({"status": "rejected", "isUsingOverage": false})),
                ..Self::answer(429, "rate_limit", "rate_limit_error", TOO_MANY).retried()
            },
            ProviderFailure::Overloaded => {
                Self::answer(529, "server_error", "overloaded_error", OVERLOADED).retried()
            }
            ProviderFailure::Network => Self {
                detail: Some("connection_failed"),
                ..Self::without_answer("server_error", UNREACHABLE).retried()
            },
            ProviderFailure::Auth(text) => {
                Self::answer(401, "authentication_failed", "authentication_error", text).retried()
            }
            ProviderFailure::Billing => invalid("billing_error", NO_CREDIT),
            ProviderFailure::TooLong => {
                Self { terminal_reason: "prompt_too_long", ..invalid("invalid_request", TOO_LONG) }
            }
            ProviderFailure::NoModel => {
                let text = format!("There's an issue with the selected model ({model}).");
                Self::answer(404, "model_not_found", "not_found_error", &text)
            }
            ProviderFailure::Error(text) => invalid("unknown", &format!("API Error: 400 {text}")),
            ProviderFailure::Refuse => {
                Self { stop_reason: "refusal", ..Self::without_answer("invalid_request", DECLINED) }
            }
            ProviderFailure::OutputLimit => Self {
                detail: Some("max_output_tokens"),
                ..Self::without_answer("max_output_tokens", TOO_MUCH)
            },
        }
    }

    fn answer(status: u16, word: &'static str, kind: &'static str, text: &str) -> Self {
        let (status, kind) = (Some(status), Some(kind));
        Self { status, kind, ..Self::without_answer(word, text) }
    }

    fn without_answer(word: &'static str, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            word,
            status: None,
            kind: None,
            detail: None,
            terminal_reason: "api_error",
            stop_reason: "stop_sequence",
            rate_limit: None,
            retried: false,
        }
    }

    fn retried(self) -> Self {
        Self { retried: true, ..self }
    }
}

/// Longer limits are weekly limits.
const FIVE_HOURS: std::time::Duration = std::time::Duration::from_hours(5);

fn usage_limit(after: std::time::Duration, now: Timestamp) -> ApiError {
    let after_now = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
    let resets = now.checked_add(after_now).unwrap_or(Timestamp::MAX);
    let at = resets.to_zoned(TimeZone::UTC);
    let (window, text) = if after <= FIVE_HOURS {
        let text =
            format!("You've hit your 5-hour limit · resets {} (UTC)", at.strftime("%-I:%M%P"));
        ("five_hour", text)
    } else {
        let text = format!(
            "You've hit your weekly limit · resets {} (UTC)",
            at.strftime("%b %-d, %-I:%M%P")
        );
        ("seven_day", text)
    };
    ApiError {
        detail: Some("usage_limit_reached"),
        rate_limit: Some(json!({
            "status": "rejected", "resetsAt": resets.as_second(), "rateLimitType": window,
            "overageStatus": "rejected", "isUsingOverage": false,
        })),
        ..ApiError::answer(429, "rate_limit", "rate_limit_error", &text)
    }
}
