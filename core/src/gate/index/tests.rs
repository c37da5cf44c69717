use super::*;
use crate::gate::Pattern;
use crate::gate::pattern::asked;
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn matcher(pattern: &Pattern) -> Matcher {
    Matcher::new(pattern).expect("a pattern")
}

/// An index of rules with one condition each, about attribute 0.
fn index(patterns: impl IntoIterator<Item = Pattern>) -> Index {
    Index::new(patterns.into_iter().map(|pattern| vec![(0, matcher(&pattern))]).collect())
}

fn matching(index: &Index, values: &[Option<&[u8]>]) -> Vec<u32> {
    let mut found = SmallVec::new();
    index.matching(values, &mut found);
    found.to_vec()
}

fn matching_path(index: &Index, path: &str) -> Vec<u32> {
    matching(index, &[Some(path.as_bytes())])
}

/// The same, by asking all conditions of all rules.
fn naive(rules: &[Vec<(usize, Matcher)>], values: &[Option<&[u8]>]) -> Vec<u32> {
    let holds =
        |(attribute, matcher): &(usize, Matcher)| values[*attribute].is_some_and(|value| matcher.is_match(value));
    (0..rules.len() as u32).filter(|rule| rules[*rule as usize].iter().all(holds)).collect()
}

/// Texts of few letters, so that they are often prefixes of each other.
fn text() -> impl Strategy<Value = String> {
    "[ab/é]{1,6}"
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let glob = "(/|a|b|é|\\*|\\?|/\\*\\*/|\\[a\\]|\\[!b\\]|\\{a,/b\\}){1,5}"
        .prop_filter("`**` is a whole segment", |text| Matcher::new(&Pattern::glob(text)).is_ok());
    let regex = "(/|a|b|é|\\.|a\\*|\\.\\*|\\(a\\|b/\\)|\\[ab\\]\\+|\\(\\?i:Ab\\)|\\^|\\$|\\(\\?u:\\\\b\\)){1,5}";
    prop_oneof![
        prop::collection::vec("[ab/é]{0,6}", 1..4).prop_map(Pattern::Exact),
        prop::collection::vec(text(), 1..4).prop_map(Pattern::Prefix),
        prop::collection::vec(glob, 1..3).prop_map(Pattern::Glob),
        prop::collection::vec(regex, 1..3).prop_map(Pattern::Regex),
    ]
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    let bytes = prop::collection::vec(prop::sample::select(b"ab/\xc3\xa9\xff\n".as_slice()), 0..8);
    prop::option::weighted(0.9, prop_oneof![text().prop_map(String::into_bytes), bytes])
}

proptest! {
    #[test]
    fn exactly_the_rules_of_which_all_conditions_hold_match(
        rules in prop::collection::vec(prop::collection::vec((0..3_usize, pattern()), 0..4), 0..24),
        requests in prop::collection::vec(prop::collection::vec(value(), 3), 1..24),
    ) {
        let compiled = || -> Vec<Vec<_>> {
            rules.iter().map(|rule| rule.iter().map(|(attribute, it)| (*attribute, matcher(it))).collect()).collect()
        };
        let (index, rules) = (Index::new(compiled()), compiled());
        for request in &requests {
            let values: Vec<_> = request.iter().map(|value| value.as_deref()).collect();
            prop_assert_eq!(matching(&index, &values), naive(&rules, &values), "{:?}", request);
        }
    }
}

#[test]
fn the_value_that_is_there_and_all_that_it_begins_with_are_found_in_order() {
    let texts = ["/a/b", "/", "/a/", "/a/b/c", "/b", "/a"];
    let prefixes = texts.map(Pattern::prefix);
    let index = index(prefixes.into_iter().chain(texts.map(Pattern::exact)));
    assert_eq!(matching_path(&index, "/a/b"), [0, 1, 2, 5, 6]);
    assert_eq!(matching_path(&index, "/a/bz"), [0, 1, 2, 5]);
    assert_eq!(matching_path(&index, "/a"), [1, 5, 11]);
    assert_eq!(matching_path(&index, "/\u{10ffff}"), [1]);
    assert_eq!(matching_path(&index, ""), [] as [u32; 0]);
}

#[test]
fn a_rule_without_conditions_matches_and_one_whose_attribute_is_not_there_does_not() {
    let index = Index::new(vec![
        vec![(2, matcher(&Pattern::exact("")))],
        vec![],
        vec![(0, matcher(&Pattern::prefix("/"))), (1, matcher(&Pattern::regex(".*")))],
    ]);
    assert_eq!(matching(&index, &[None, None, None]), [1]);
    assert_eq!(matching(&index, &[Some(b"/"), None, Some(b"")]), [0, 1]);
    assert_eq!(matching(&index, &[Some(b"/"), Some(b""), Some(b"x")]), [1, 2]);
}

#[test]
fn what_was_found_before_is_gone() {
    let index = index([Pattern::prefix("/a")]);
    let mut found = SmallVec::from_slice(&[7, 8]);
    index.matching(&[Some(b"/b")], &mut found);
    assert!(found.is_empty());
}

/// CASES G2.
#[test]
fn a_glob_is_not_a_regular_expression_and_each_condition_tells_whether_it_holds() {
    let path = "/assign/sso/user";
    let patterns = ["ass*", "/ass*", "/ass*/**"].map(Pattern::glob).into_iter().chain([Pattern::regex("/ass.*")]);
    let index = index(patterns);
    assert_eq!(matching_path(&index, path), [2, 3]);
    let hold = (0..4).map(|rule| index.conditions(rule)[0].1.is_match(path.as_bytes()));
    assert_eq!(hold.collect::<Vec<_>>(), [false, false, true, true]);
}

/// How often matchers are asked to find what matches a path, if `count` rules each are about a service and have a pattern.
fn asked_among(count: u32, pattern: fn(u32) -> Pattern) -> u64 {
    let rule = |service| vec![(1, matcher(&Pattern::exact("GET"))), (0, matcher(&pattern(service)))];
    let index = Index::new((0..count).map(rule).collect());
    let before = asked::times();
    assert_eq!(matching(&index, &[Some(b"/service7/items/1"), Some(b"GET")]), [7]);
    asked::times() - before
}

/// CASES G8.
#[test]
fn rules_that_cannot_match_are_not_asked_however_many_they_are() {
    let patterns: [fn(u32) -> Pattern; 5] = [
        |service| Pattern::prefix(format!("/service{service}/")),
        |service| Pattern::exact(format!("/service{service}/items/1")),
        |service| Pattern::glob(format!("/service{service}/*/1")),
        |service| Pattern::regex(format!("/[a-z]+{service}/items/[0-9]+")),
        |service| Pattern::glob(format!("**/service{service}/*/*")),
    ];
    for pattern in patterns {
        let asked = asked_among(1000, pattern);
        assert_eq!(asked, asked_among(10, pattern), "{:?}", pattern(7));
        assert!(asked <= 2, "{asked} for {:?}", pattern(7));
    }
}

/// CASES G8.
#[test]
fn time_grows_with_the_length_of_a_value_only_as_fast_as_it() {
    let index = index([Pattern::regex("(a+)+$"), Pattern::regex("(a|aa)*b"), Pattern::regex("(a*)*x")]);
    let time = |bytes| {
        let value = "a".repeat(bytes);
        let start = Instant::now();
        assert_eq!(matching_path(&index, &value), [0]);
        assert_eq!(matching_path(&index, &(value + "!")), [] as [u32; 0]);
        start.elapsed()
    };
    time(100_000);
    // Ten times as long: linear is 10 times, quadratic 100 times. Short enough to be left alone by other processes once in a while.
    let (short, long) = (0..50)
        .fold((Duration::MAX, Duration::MAX), |(short, long), _| (short.min(time(1_000)), long.min(time(10_000))));
    assert!(long < 40 * short, "{long:?} and {short:?}");
}

/// CASES G8.
#[test]
fn nothing_is_kept_of_a_million_paths() {
    let numbers = (0..).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let prefixes = index((0..100).map(|service| Pattern::prefix(format!("/{service}"))));
    let found = numbers.clone().take(1_000_000).map(|number| matching_path(&prefixes, &format!("/{number:020}")).len());
    assert!(found.sum::<usize>() > 0);
    // Without sets it has nowhere to keep anything.
    assert!(prefixes.shelves[0].1.folders.iter().all(|folder| folder.sets.is_empty()));

    // The states that values lead to are as many as the values.
    let patterns = || (0..4).map(|length| Pattern::regex(format!("[01]*1[01]{{{}}}", 20 + length)));
    let (expressions, patterns) =
        (index(patterns()), patterns().map(|pattern| vec![(0, matcher(&pattern))]).collect::<Vec<_>>());
    let Some(set) = &expressions.shelves[0].1.folders[0].sets[0] else { panic!("no set") };
    let mut gave_up = false;
    for number in numbers.take(2_000) {
        let path = format!("{number:064b}");
        assert_eq!(matching_path(&expressions, &path), naive(&patterns, &[Some(path.as_bytes())]));
        gave_up |= set.matching(path.as_bytes(), |_| ()).is_none();
        assert!(set.remembered_bytes() < 2 * set::CACHE_BYTES);
    }
    assert!(gave_up, "another way had to be taken, and was");
}
