//! What a rule says, as it is written.

use crate::table::MAX_KEYS;
use crate::{MAX_COST, WhenFull};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// The rules of a gate, as a file holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "The rules of a tidegate gate", transform = allow_schema_field)]
pub struct Rules {
    /// Whether refusals and events show the keys of requests, such as addresses. If not, they show a hash of each.
    #[serde(default)]
    pub show_keys: bool,
    /// The rules. All that match a request must admit it.
    pub rules: Vec<Rule>,
}

/// One rule: which requests it is about, and the limiter that must admit them. Exactly one of `quota` and `concurrency` is set.
///
/// ```
/// use tidegate::gate::{Pattern, Rule};
///
/// let rule = Rule::new("search")
///     .matching("path", Pattern::prefix("/search"))
///     .key(["client"])
///     .quota("100/s burst 20");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "One rule: which requests it is about, and the limiter that must admit them.")]
#[schemars(extend("oneOf" = [{ "required": ["quota"] }, { "required": ["concurrency"] }]))]
pub struct Rule {
    /// What refusals, events and counters call it; no two rules of a gate have the same. A rule keeps what is used across
    /// changes as long as it keeps its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Which requests: each attribute named here must be there and match. Without any the rule is about every request.
    #[serde(default, rename = "match", skip_serializing_if = "BTreeMap::is_empty")]
    pub matches: BTreeMap<String, Pattern>,
    /// The attributes whose values, together, have a budget of their own. Without any there is one budget for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "texts")]
    #[schemars(with = "Texts<'static>")]
    pub key: Vec<String>,
    /// Quotas that all must admit, such as `100/s burst 20`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "texts")]
    #[schemars(with = "Texts<'static>")]
    pub quota: Vec<String>,
    /// How many requests may be inside at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(max = MAX_COST))]
    pub concurrency: Option<u64>,
    /// How long a request may wait to be admitted, such as `50ms`; or `call`: as long as the call itself may wait. By default
    /// it doesn't wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub timeout: Option<String>,
    /// How many requests may wait at once, for each key. By default as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(max = MAX_COST))]
    pub max_waiters: Option<u64>,
    /// Whether the rule refuses, only counts what it would refuse, or is out of use.
    #[serde(default)]
    pub mode: Mode,
    /// What a request of cost 1 costs here, in tokens or permits. By default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = MAX_COST))]
    pub cost: Option<u64>,
    /// For how many keys that count at once there is room. By default 100,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1, max = MAX_KEYS))]
    pub max_keys: Option<u64>,
    /// What becomes of a new key when there is no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WhenFull")]
    pub when_full: Option<WhenFull>,
    /// Quotas of single keys in place of `quota`, by the key. For rules with a quota whose key is one attribute.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", serialize_with = "texts_by_key")]
    #[schemars(with = "BTreeMap<String, Texts<'static>>")]
    pub overrides: BTreeMap<String, Vec<String>>,
}

/// How the value of an attribute is compared: always the whole value. Any one of several texts will do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// The value is the text.
    #[serde(serialize_with = "texts")]
    Exact(#[schemars(with = "Texts<'static>")] Vec<String>),
    /// The value begins with the text.
    #[serde(serialize_with = "texts")]
    Prefix(#[schemars(with = "Texts<'static>")] Vec<String>),
    /// `?` is one byte and `*` any number of them, but no `/`; `[ab]` and `[!ab]` are one byte of a set, or not of it, but no `/`;
    /// `{a,b}` is either; `\` takes the meaning of the character behind it away. `**`, between two `/`, before the first or behind
    /// the last, is any number of segments: `/a/**` matches `/a/` and `/a/b/c`, `/a/**/z` matches `/a/z` and `/a/b/c/z`.
    #[serde(serialize_with = "texts")]
    Glob(#[schemars(with = "Texts<'static>")] Vec<String>),
    /// A regular expression for the whole value, without look-around and back references, so that it takes linear time. `.` is any
    /// byte, a newline too, and classes are of bytes, so that none gets a value out of a rule; `(?u)` in front makes characters
    /// of them, which bytes that aren't UTF-8 don't match.
    #[serde(serialize_with = "texts")]
    Regex(#[schemars(with = "Texts<'static>")] Vec<String>),
}

/// What a rule does to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It refuses them.
    #[default]
    Enforce,
    /// It counts what it would refuse, and refuses nothing.
    Shadow,
    /// Nothing.
    Off,
}

impl Rule {
    /// A rule about every request, which has yet to be given a [`quota`](Self::quota) or a [`concurrency`](Self::concurrency).
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Only about requests that have this attribute, with a value that matches.
    #[must_use]
    pub fn matching(mut self, attribute: impl Into<String>, pattern: Pattern) -> Self {
        self.matches.insert(attribute.into(), pattern);
        self
    }

    /// A budget for each combination of values of these attributes. One that a request doesn't have counts as empty.
    #[must_use]
    pub fn key<const N: usize>(mut self, attributes: [&str; N]) -> Self {
        self.key = attributes.map(String::from).to_vec();
        self
    }

    /// Another quota that must admit, such as `100/s burst 20`.
    #[must_use]
    pub fn quota(mut self, quota: impl ToString) -> Self {
        self.quota.push(quota.to_string());
        self
    }

    /// So many requests inside at once.
    #[must_use]
    pub fn concurrency(mut self, permits: u64) -> Self {
        self.concurrency = Some(permits);
        self
    }

    /// Requests may wait for so long to be admitted.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(format!("{}ns", timeout.as_nanos()));
        self
    }

    /// Requests may wait for as long as the call itself may.
    #[must_use]
    pub fn timeout_of_call(mut self) -> Self {
        self.timeout = Some("call".into());
        self
    }

    /// So many may wait at once, for each key.
    #[must_use]
    pub fn max_waiters(mut self, max_waiters: u64) -> Self {
        self.max_waiters = Some(max_waiters);
        self
    }

    /// Whether it refuses, only counts, or is out of use.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What a request of cost 1 costs here.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Room for so many keys that count at once.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.max_keys = Some(max_keys);
        self
    }

    /// What becomes of a new key when there is no room.
    #[must_use]
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = Some(when_full);
        self
    }

    /// Another quota of one key alone.
    #[must_use]
    pub fn override_quota(mut self, key: impl Into<String>, quota: impl ToString) -> Self {
        self.overrides.entry(key.into()).or_default().push(quota.to_string());
        self
    }
}

impl Pattern {
    /// The value is `text`.
    #[must_use]
    pub fn exact(text: impl Into<String>) -> Self {
        Self::Exact(vec![text.into()])
    }

    /// The value begins with `text`.
    #[must_use]
    pub fn prefix(text: impl Into<String>) -> Self {
        Self::Prefix(vec![text.into()])
    }

    /// The value is as the glob says; see [`Glob`](Self::Glob).
    #[must_use]
    pub fn glob(text: impl Into<String>) -> Self {
        Self::Glob(vec![text.into()])
    }

    /// The whole value is as the regular expression says.
    #[must_use]
    pub fn regex(text: impl Into<String>) -> Self {
        Self::Regex(vec![text.into()])
    }

    /// The way of comparing, as it is written: `exact`, `prefix`, `glob` or `regex`.
    #[must_use]
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Prefix(_) => "prefix",
            Self::Glob(_) => "glob",
            Self::Regex(_) => "regex",
        }
    }

    /// The texts, of which any will do.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Exact(texts) | Self::Prefix(texts) | Self::Glob(texts) | Self::Regex(texts) => texts,
        }
    }
}

impl Rules {
    /// The JSON Schema (2020-12) of rule files: what editors check and complete them by, in JSON, YAML and TOML.
    #[must_use]
    pub fn json_schema() -> String {
        format!("{:#}\n", schemars::schema_for!(Self).to_value())
    }

    /// The rules as the text of a JSON file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists: nothing that could fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// In JSON, a file tells editors by this field what its schema is.
fn allow_schema_field(schema: &mut Schema) {
    let field = schemars::json_schema!({ "description": "Where the schema of this file is.", "type": "string" });
    if let Some(fields) = schema.get_mut("properties").and_then(|fields| fields.as_object_mut()) {
        fields.insert("$schema".into(), field.to_value());
    }
}

/// One text, or a list of texts.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Texts<'t> {
    One(&'t str),
    Several(&'t [String]),
}

impl<'t> From<&'t Vec<String>> for Texts<'t> {
    fn from(texts: &'t Vec<String>) -> Self {
        match &**texts {
            [text] => Self::One(text),
            texts => Self::Several(texts),
        }
    }
}

fn texts<S: Serializer>(texts: &Vec<String>, serializer: S) -> Result<S::Ok, S::Error> {
    Texts::from(texts).serialize(serializer)
}

fn texts_by_key<S: Serializer>(texts: &BTreeMap<String, Vec<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(texts.iter().map(|(key, texts)| (key, Texts::from(texts))))
}

impl Mode {
    /// The name, as it is written: `enforce`, `shadow` or `off`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
            Self::Off => "off",
        }
    }
}
