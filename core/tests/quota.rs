//! What a quota's mistakes say.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use tidegate::{ManualClock, Quota, RateLimiter};

fn said(text: &str) -> String {
    RateLimiter::new(text).unwrap_err().to_string()
}

#[test]
fn numbers_are_told_as_they_were_written() {
    assert!(said("99999999999999999999999/s").starts_with("limit: got 99999999999999999999999; allowed: 0 to"));
    assert!(said("5/s burst 99999999999999999999999").starts_with("burst: got 99999999999999999999999; allowed: 1 to"));
    assert!(said("5/800d").starts_with("period: got 800 d; allowed: 1 ns to"));
    assert!(said("5/0s").starts_with("period: got 0 s; allowed: 1 ns to"));
}

#[test]
fn an_unknown_unit_is_named() {
    for unit in ["m", "M", "month", "x"] {
        let said = said(&format!("10/{unit}"));
        assert!(said.contains(&format!("{:?}", format!("10/{unit}"))), "{said}");
    }
    assert!(said("10/m").contains("whose unit is \"m\"; allowed: the units ns, us"), "{}", said("10/m"));
}

#[test]
fn an_empty_quota_in_a_list_is_pointed_at() {
    assert!(said("10/s;").starts_with("quota: got \"10/s;\", whose quota 2 is empty; allowed: LIMIT/UNIT"));
    assert!(said("10/s;;20/s").contains("whose quota 2 is empty"));
    assert!(said("").starts_with("quota: got \"\"; allowed: LIMIT/UNIT"));
}

#[test]
fn what_cannot_be_read_of_a_quota_is_named() {
    for (text, why) in [
        ("100/second, 5/min", ", with \",\" where \";\" joins quotas"),
        ("10,000/s", ", whose limit \"10,000\" isn't digits alone"),
        ("1.5/s", ", whose limit \"1.5\" isn't digits alone"),
        ("100/s fixed_window burst 5", ", of which \"burst 5\" can't be read"),
        ("100/s  burst=20", ", of which \"burst=20\" can't be read"),
        ("5 per 30s burst", ", of which \"burst\" can't be read"),
        ("100", ""),
        ("a/s, 5/s", ""),
    ] {
        assert!(said(text).starts_with(&format!("quota: got {text:?}{why}; allowed: LIMIT/UNIT")), "{}", said(text));
    }
}

#[test]
fn a_list_where_one_quota_is_wanted_is_told_so() {
    let mistake = "1/s;2/s".parse::<Quota>().unwrap_err().to_string();
    assert!(mistake.starts_with("quota: got \"1/s;2/s\"; allowed: one quota"), "{mistake}");
}

#[test]
fn a_long_text_is_cut() {
    let mistake = said(&"ä".repeat(100_000));
    assert!(mistake.len() < 1_000, "{}", mistake.len());
    assert!(mistake.contains("(200000 bytes)"));
}

#[test]
fn limiters_are_built_from_owned_texts_and_lists_of_texts() {
    let text = String::from("2/s");
    for limiter in [RateLimiter::new(&text), RateLimiter::new(text.clone()), RateLimiter::new(["2/s", "9/min"])] {
        assert_eq!(limiter.unwrap().peek().remaining(), 2);
    }
    assert_eq!(RateLimiter::new(["2/s", "x"]).unwrap_err().argument(), "quota");
}

#[test]
fn a_retry_after_header_is_never_early_never_zero_and_left_out_for_never() {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock("1/s", &clock).unwrap();
    assert_eq!(limiter.decide().retry_after_seconds(), Some(0));
    assert_eq!(limiter.decide().retry_after_seconds(), Some(1));
    clock.advance_ns(800_000_000);
    assert_eq!(limiter.decide().retry_after_seconds(), Some(1));
    assert_eq!(limiter.decide_n(2).unwrap().retry_after_seconds(), None);
}
