//! The words of a script.

use super::Result;
use std::time::Duration;
use tidegate::{Algorithm, Anchor, Quota};

/// What stands behind `NAME=`.
pub(crate) fn value<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// `limit= per= [burst= algorithm= anchor=]`, several joined by `+`.
pub(crate) fn quotas(words: &[&str]) -> Result<Vec<Quota>> {
    words.split(|word| *word == "+").map(quota).collect()
}

fn quota(words: &[&str]) -> Result<Quota> {
    let limit = value(words, "limit").ok_or("limit")?.parse()?;
    let per_ns = value(words, "per").ok_or("per")?.parse()?;
    let mut quota = Quota::new(limit, Duration::from_nanos(per_ns));
    if let Some(burst) = value(words, "burst") {
        quota = quota.with_burst(burst.parse()?);
    }
    if let Some(name) = value(words, "algorithm") {
        quota = quota.with_algorithm(name.parse::<Algorithm>()?);
    }
    if let Some(name) = value(words, "anchor") {
        quota = quota.with_anchor(name.parse::<Anchor>()?);
    }
    Ok(quota)
}

pub(crate) fn key_in(words: &[&str]) -> Option<Vec<u8>> {
    value(words, "key").map(decoded_bytes)
}

/// What is between commas, each percent-decoded; at least one, which may be empty.
pub(crate) fn listed(text: &str) -> Vec<Vec<u8>> {
    text.split(',').map(decoded_bytes).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Percent-decoded text.
pub(crate) fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&decoded_bytes(text)).into_owned()
}

fn decoded_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = (byte == b'%').then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}
