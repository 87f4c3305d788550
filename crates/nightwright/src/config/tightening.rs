//! The settings that a project may tighten, but loosen only with the user's approval.

use nightwright_core::settings::SandboxKind;

use super::keys;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use super::value::ConfigValue;

/// The order of the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// A lower value is tighter.
    Lower,
    /// A lower value is tighter, and 0 means no limit.
    LowerZeroIsNone,
    /// A higher value is tighter, and a word such as `off` is the loosest.
    Higher,
    /// The words, the loosest first.
    Words(&'static [&'static str]),
    /// `true` is looser than `false`.
    FalseIsTighter,
    /// Every other value is looser.
    Same,
}

/// The keys that limit a run or decide when its work is accepted, with the order of their values.
/// Keys that always need an approval are not among them.
const BOUNDS: &[(&str, Order)] = &[
    ("limits.max_iterations", Order::LowerZeroIsNone),
    ("limits.max_cost", Order::Lower),
    ("limits.max_tokens", Order::Lower),
    ("limits.max_duration", Order::Lower),
    ("limits.reserve", Order::Higher),
    ("limits.max_wait", Order::Lower),
    ("limits.quota.five_hour", Order::Lower),
    ("limits.quota.seven_day", Order::Lower),
    ("retry.max_retries", Order::Lower),
    ("retry.max_consecutive_errors", Order::Lower),
    ("stagnation.threshold", Order::LowerZeroIsNone),
    ("stagnation.no_improvement", Order::LowerZeroIsNone),
    ("deadlines.attempt", Order::LowerZeroIsNone),
    ("sandbox.kind", Order::Words(SandboxKind::LOOSEST_FIRST)),
    ("completion.detect", Order::FalseIsTighter),
    ("completion.signal", Order::Same),
    ("completion.threshold", Order::Higher),
    ("completion.end_phrase", Order::Same),
    ("verify.timeout", Order::Lower),
    ("verify.baseline", Order::Higher),
    ("verify.every", Order::Words(&["claim", "auto", "always"])),
    ("verify.rerun", Order::Words(&["once", "never"])),
    ("verify.model", Order::Words(&["off", "auto", "always"])),
    ("verify.model_name", Order::Same),
    ("verify.depth", Order::Words(&["quick", "standard", "deep"])),
    ("verify.tamper", Order::Words(&["off", "warn", "reject"])),
    ("verify.max_cost", Order::Lower),
    ("verify.model_timeout", Order::Lower),
];

/// Whether a project may only tighten this key.
pub fn is_bound(key: &str) -> bool {
    order_of(key).is_some()
}

fn order_of(key: &str) -> Option<Order> {
    BOUNDS.iter().find(|(name, _)| *name == key).map(|(_, order)| *order)
}

/// The keys whose default is a bound, too. A project may choose the limits that the user leaves to
/// it, but not how much of the machine the agent gets.
const BOUND_BY_DEFAULT: &[&str] = &["sandbox.kind"];

/// A value of a project that is looser than the bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooserValue<'a> {
    pub key: &'static str,
    pub value: &'a ConfigValue,
    pub bound: Bound,
}

/// The value that a project may only tighten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The value in the user's configuration file.
    Users(ConfigValue),
    /// The default, if the user's file has no value.
    Default(ConfigValue),
}

impl Bound {
    fn of(key: &str, user: Option<&ConfigLayer>) -> Option<Self> {
        let users = user.and_then(|user| user.get(key)).map(|(_, value)| value.clone());
        let default = || {
            let is_bound = BOUND_BY_DEFAULT.contains(&key);
            keys::find(key).filter(|_| is_bound)?.default_value()
        };
        users.map(Self::Users).or_else(|| default().map(Self::Default))
    }

    fn value(&self) -> &ConfigValue {
        match self {
            Self::Users(value) | Self::Default(value) => value,
        }
    }

    /// The bound as the object of "looser than".
    pub fn words(&self) -> String {
        match self {
            Self::Users(value) => format!("yours ({value})"),
            Self::Default(value) => format!("the default ({value})"),
        }
    }
}

/// The values in a layer of the project that are looser than those in the user's file, or than
/// defaults that bind a project.
pub fn looser<'a>(layer: &'a ConfigLayer, user: Option<&ConfigLayer>) -> Vec<LooserValue<'a>> {
    let user = match layer.origin() {
        ValueOrigin::Project(_) | ValueOrigin::Task(_) => user,
        // The defaults of a mode give way to the user's file, but not to the built-in defaults.
        ValueOrigin::Mode(_) => None,
        ValueOrigin::BuiltIn
        | ValueOrigin::User(_)
        | ValueOrigin::Environment(_)
        | ValueOrigin::Flag(_) => return Vec::new(),
    };
    let pairs = layer.iter().filter_map(|(key, _, value)| {
        let bound = Bound::of(key, user)?;
        let is_looser = is_looser(order_of(key)?, value, bound.value());
        is_looser.then_some(LooserValue { key, value, bound })
    });
    pairs.collect()
}

fn is_looser(order: Order, value: &ConfigValue, users: &ConfigValue) -> bool {
    match order {
        Order::Lower => amount(value) > amount(users),
        Order::LowerZeroIsNone => limit(value) > limit(users),
        // A word has no amount, and no amount is the least.
        Order::Higher => amount(value) < amount(users),
        Order::Words(words) => rank(words, value) < rank(words, users),
        Order::FalseIsTighter => {
            (value, users) == (&ConfigValue::Bool(true), &ConfigValue::Bool(false))
        }
        Order::Same => value != users,
    }
}

/// An amount where 0 is no limit, and thus the most.
fn limit(value: &ConfigValue) -> u128 {
    amount(value).filter(|amount| *amount > 0).unwrap_or(u128::MAX)
}

fn rank(words: &[&str], value: &ConfigValue) -> Option<usize> {
    let ConfigValue::Text(word) = value else { return None };
    words.iter().position(|known| known == word)
}

fn amount(value: &ConfigValue) -> Option<u128> {
    match value {
        ConfigValue::Count(count) => Some(u128::from(*count)),
        ConfigValue::Money(usd) => Some(u128::from(usd.micros())),
        ConfigValue::Tokens(number) | ConfigValue::Size(number) => Some(u128::from(*number)),
        ConfigValue::Duration(time) => Some(time.as_nanos()),
        ConfigValue::Percent(percent) => Some(u128::from(*percent)),
        ConfigValue::Text(_)
        | ConfigValue::Bool(_)
        | ConfigValue::List(_)
        | ConfigValue::Checks(_)
        | ConfigValue::Ports(_)
        | ConfigValue::Table(_)
        | ConfigValue::Url(_)
        | ConfigValue::Secret(_)
        | ConfigValue::Tables(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::KEYS;

    fn layer(origin: ValueOrigin, key: &str, value: &str) -> ConfigLayer {
        ConfigLayer::parse(origin, Path::new("x.toml"), &format!("{key} = {value}")).unwrap()
    }

    fn loosens(key: &str, project: &str, user: &str) -> bool {
        let project = layer(ValueOrigin::Project("x.toml".into()), key, project);
        let user = layer(ValueOrigin::User("x.toml".into()), key, user);
        !looser(&project, Some(&user)).is_empty()
    }

    #[test]
    fn each_key_has_a_tighter_and_a_looser_value() {
        // The values of each key, the tightest first.
        let cases: &[(&str, &[&str])] = &[
            ("limits.max_iterations", &["1", "9", "0"]),
            ("limits.max_cost", &["1", "2.5"]),
            ("limits.max_tokens", &["1000", "2000"]),
            ("limits.max_duration", &["\"1h\"", "\"2h\""]),
            ("limits.reserve", &["20", "0"]),
            ("limits.max_wait", &["0", "\"1h\""]),
            ("limits.quota.five_hour", &["50", "90"]),
            ("limits.quota.seven_day", &["50", "90"]),
            ("retry.max_retries", &["0", "3"]),
            ("retry.max_consecutive_errors", &["1", "3"]),
            ("stagnation.threshold", &["2", "5", "0"]),
            ("stagnation.no_improvement", &["2", "5", "0"]),
            ("deadlines.attempt", &["\"1h\"", "\"2h\"", "0"]),
            ("sandbox.kind", &["\"bwrap\"", "\"off\"", "\"external\""]),
            ("completion.detect", &["false", "true"]),
            ("completion.threshold", &["3", "1"]),
            ("verify.timeout", &["\"1m\"", "\"2m\""]),
            ("verify.baseline", &["\"9m\"", "\"1m\"", "\"off\""]),
            ("verify.every", &["\"always\"", "\"auto\"", "\"claim\""]),
            ("verify.rerun", &["\"never\"", "\"once\""]),
            ("verify.model", &["\"always\"", "\"auto\"", "\"off\""]),
            ("verify.depth", &["\"deep\"", "\"standard\"", "\"quick\""]),
            ("verify.tamper", &["\"reject\"", "\"warn\"", "\"off\""]),
            ("verify.max_cost", &["1", "2"]),
            ("verify.model_timeout", &["\"1m\"", "\"2m\""]),
        ];
        for (key, values) in cases {
            for (at, one) in values.iter().enumerate() {
                for (other_at, other) in values.iter().enumerate() {
                    assert_eq!(loosens(key, one, other), at > other_at, "{key}: {one} {other}");
                }
            }
        }
        for key in ["completion.signal", "completion.end_phrase", "verify.model_name"] {
            assert!(loosens(key, "\"a\"", "\"b\"") && !loosens(key, "\"a\"", "\"a\""), "{key}");
        }
        assert_eq!(cases.len() + 3, BOUNDS.len());
    }

    #[test]
    fn every_limit_and_every_key_of_the_gate_is_bound_or_needs_an_approval() {
        let tables = ["limits.", "verify.", "completion."];
        for key in KEYS {
            let matters = tables.iter().any(|table| key.name.starts_with(table));
            assert!(!matters || key.gated || is_bound(key.name), "{}", key.name);
            assert!(!(key.gated && is_bound(key.name)), "{}", key.name);
        }
        assert!(BOUNDS.iter().all(|(name, _)| KEYS.iter().any(|key| key.name == *name)));
    }

    #[test]
    fn a_project_makes_the_sandbox_stricter_than_the_default_and_never_looser() {
        let default = keys::find("sandbox.kind").unwrap().default_value().unwrap();
        let by = |kind: &str| {
            let value = format!("\"{kind}\"");
            let project = layer(ValueOrigin::Project("x.toml".into()), "sandbox.kind", &value);
            let found = looser(&project, None);
            found.first().map(|looser| looser.bound.clone())
        };
        let mode = ValueOrigin::Mode("theirs".to_owned());
        let mode = layer(mode, "sandbox.kind", "\"external\"");
        assert_eq!(looser(&mode, None).len(), 1, "a mode can come with the project");
        for kind in SandboxKind::LOOSEST_FIRST {
            let order = Order::Words(SandboxKind::LOOSEST_FIRST);
            let loosens = is_looser(order, &ConfigValue::from(*kind), &default);
            assert_eq!(by(kind), loosens.then(|| Bound::Default(default.clone())), "{kind}");
        }
        // The agent would get everything on this machine.
        assert_eq!(by("external").unwrap().words(), format!("the default ({default})"));
    }

    #[test]
    fn only_files_of_the_project_are_compared_and_only_with_the_user_file() {
        let user = layer(ValueOrigin::User("x.toml".into()), "limits.max_cost", "1");
        let file = |origin| layer(origin, "limits.max_cost", "5");
        let task = file(ValueOrigin::Task("x.toml".into()));
        assert_eq!(looser(&task, Some(&user)).len(), 1);
        assert_eq!(looser(&file(ValueOrigin::Mode("loop".to_owned())), Some(&user)), []);
        let other = layer(ValueOrigin::User("x.toml".into()), "limits.max_tokens", "1");
        assert_eq!(looser(&task, Some(&other)), []);
        assert_eq!(looser(&task, None), []);
    }
}
