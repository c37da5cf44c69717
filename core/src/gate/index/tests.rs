use super::*;
use crate::gate::Pattern;
use crate::gate::pattern::asked;
use proptest::prelude::*;

fn matcher(pattern: &Pattern) -> Matcher {
    Matcher::new(pattern).unwrap()
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
