use super::*;

fn matches(pattern: Pattern, value: impl AsRef<[u8]>) -> bool {
    Matcher::new(&pattern).expect("a pattern").is_match(value.as_ref())
}

fn mistakes(pattern: Pattern) -> Vec<Mistake> {
    Matcher::new(&pattern).expect_err("not a pattern")
}

fn allowed(pattern: Pattern) -> String {
    let mut mistakes = mistakes(pattern);
    assert_eq!(mistakes.len(), 1);
    mistakes.remove(0).1
}

/// Each value, and whether the pattern matches it.
fn check<const N: usize>(pattern: impl Fn() -> Pattern, values: [(&[u8], bool); N]) {
    for (value, expected) in values {
        assert_eq!(matches(pattern(), value), expected, "{:?} and {}", pattern(), value.escape_ascii());
    }
}

#[test]
fn any_of_several_texts_will_do() {
    let texts = || vec!["/b".into(), "/a".into(), "/a/x".into()];
    check(|| Pattern::Exact(texts()), [(b"/a", true), (b"/a/x", true), (b"/b", true), (b"/a/", false), (b"/", false)]);
    check(|| Pattern::Prefix(texts()), [(b"/a", true), (b"/b!", true), (b"/a/x/y", true), (b"/", false), (b"", false)]);
    check(|| Pattern::Glob(texts()), [(b"/a", true), (b"/a/x", true), (b"/a/", false)]);
    let regexes = || Pattern::Regex(vec!["/a+".into(), "|b".into()]);
    check(regexes, [(b"/aa", true), (b"b", true), (b"", true), (b"/a+", false), (b"/ab", false)]);
}

#[test]
fn no_text_is_too_short_to_be_exact() {
    check(|| Pattern::exact(""), [(b"", true), (b"a", false)]);
    assert_eq!(mistakes(Pattern::prefix("")), [("\"\"".into(), "a text that isn't empty".into())]);
    assert_eq!(mistakes(Pattern::glob("")), [("\"\"".into(), "1 to 4096 bytes".into())]);
    assert_eq!(mistakes(Pattern::regex("")), [("\"\"".into(), "1 to 4096 bytes".into())]);
    assert_eq!(mistakes(Pattern::Exact(vec![])), [("[]".into(), "at least one text".into())]);
}

#[test]
fn the_whole_value_is_compared() {
    check(|| Pattern::regex("a|b"), [(b"a", true), (b"b", true), (b"ab", false), (b"xa", false), (b"b\n", false)]);
    check(|| Pattern::regex("^a$"), [(b"a", true), (b"a\n", false)]);
    check(|| Pattern::regex("(?m)^a$"), [(b"a", true), (b"a\nb", false)]);
    check(|| Pattern::regex("(?x) a [0-9] # )"), [(b"a1", true), (b"a1 # )", false)]);
    check(|| Pattern::regex("(?i)a|b"), [(b"A", true), (b"B", true), (b"AB", false)]);
    let flags_end_with_their_text = || Pattern::Regex(vec!["(?i)a[1]".into(), "b[1]".into()]);
    check(flags_end_with_their_text, [(b"A1", true), (b"b1", true), (b"B1", false)]);
    assert_eq!(allowed(Pattern::regex("a)|(b")), "a regular expression (unopened group, at byte 1)");
}

#[test]
fn no_byte_gets_a_value_out_of_a_pattern() {
    let values: [(&[u8], bool); 4] =
        [(b"/a/\xff/c", true), (b"/a/\n/c", true), (b"/a/\xc3\xa9/c", true), (b"/a//c", false)];
    check(|| Pattern::regex("/a/.+/c"), values);
    check(|| Pattern::regex("/a/[^/]+/c"), values);
    check(|| Pattern::glob("/a/?*/c"), values);
    check(|| Pattern::glob("/a/[!/]*/c"), values);
    check(|| Pattern::glob("/a/**"), [(b"/a/\xff\n", true), (b"/a/", true), (b"/a", false)]);
}

#[test]
fn a_regular_expression_is_about_bytes_unless_it_says_otherwise() {
    check(|| Pattern::regex("é+"), [("éé".as_bytes(), true), (b"\xc3\xa9\xa9", false)]);
    check(|| Pattern::regex("."), [("é".as_bytes(), false), (b"\xff", true)]);
    check(|| Pattern::regex("(?u)."), [("é".as_bytes(), true), (b"\xff", false)]);
    check(|| Pattern::regex(r"(?u)[é]\w"), [("éß".as_bytes(), true), (b"e", false)]);
    let wanted = "a regular expression (Unicode not allowed here, at byte 1; `(?u)` at the start allows it)";
    assert_eq!(allowed(Pattern::regex("[é]")), wanted);
}

#[test]
fn a_star_stays_between_slashes_and_two_do_not() {
    check(|| Pattern::glob("/a/*"), [(b"/a/b", true), (b"/a/", true), (b"/a/b/c", false)]);
    check(|| Pattern::glob("/a/?"), [(b"/a/b", true), (b"/a//", false)]);
    check(|| Pattern::glob("/a/**/z"), [(b"/a/z", true), (b"/a/b/c/z", true), (b"/az", false), (b"/a/bz", false)]);
    check(|| Pattern::glob("**/z"), [(b"z", true), (b"/z", true), (b"/a/b/z", true), (b"az", false)]);
    check(|| Pattern::glob("**"), [(b"", true), (b"/a/b\n", true)]);
    check(|| Pattern::glob("/{a,b[!0-9]}.*"), [(b"/a.", true), (b"/bx.c", true), (b"/b1.c", false), (b"/c.c", false)]);
    check(|| Pattern::glob("/a{,.html}"), [(b"/a", true), (b"/a.html", true)]);
    check(|| Pattern::glob(r"/\*\{"), [(b"/*{", true), (b"/a{", false)]);
}

#[test]
fn a_glob_that_says_something_else_than_it_seems_to_is_refused() {
    let whole_segment = "a glob (`**` is what is between two `/`, or before the first, or behind the last)";
    for text in ["/a**", "/**.html", "a**/b", "/{a**,b}", "***"] {
        assert_eq!(allowed(Pattern::glob(text)), whole_segment, "{text}");
    }
    for text in ["[é]", "/a/[!é]", "{a,[à-ý]}"] {
        assert_eq!(allowed(Pattern::glob(text)), "a glob (between `[` and `]` there is ASCII only)", "{text}");
    }
    assert!(allowed(Pattern::glob("/[a")).starts_with("a glob (unclosed character class"));
    assert!(allowed(Pattern::glob("/{a,")).starts_with("a glob (unclosed alternate group"));
}

#[test]
fn all_bad_texts_are_told_on_one_line_each() {
    let mistakes = mistakes(Pattern::Regex(vec!["a(".into(), "fine".into(), "(?=a)".into(), "(?x)\n[".into()]));
    let texts: Vec<_> = mistakes.iter().map(|(value, _)| value.as_str()).collect();
    assert_eq!(texts, ["a(", "(?=a)", "\"(?x)\\n[\""]);
    assert!(mistakes.iter().all(|(_, allowed)| !allowed.contains('\n')), "{mistakes:?}");
    assert!(mistakes[1].1.contains("look-around"));
}

#[test]
fn a_pattern_that_would_take_much_memory_is_refused() {
    let large = [r"(?u)\w{1000}", "a{1000}{1000}", "(?:a*){4294967295}", "(?:(?:[ab]{50}){50}){50}"];
    for text in large {
        assert!(allowed(Pattern::regex(text)).contains("1048576 bytes"), "{text}");
    }
    let (value, long) = mistakes(Pattern::regex("(".repeat(5000))).remove(0);
    assert_eq!((value.len(), long.as_str()), (100 + "…".len(), "1 to 4096 bytes"));
    assert!(allowed(Pattern::regex("(".repeat(1000) + &")".repeat(1000))).contains("nest"));
    // Not too large for one text, but for several.
    assert!(Matcher::new(&Pattern::regex(r"(?u)\w{20}")).is_ok());
    let mistakes = mistakes(Pattern::Regex(vec![r"(?u)\w{20}".into(); 100]));
    assert!((1..100).contains(&mistakes.len()));
}

#[test]
fn what_is_only_a_text_or_a_prefix_is_compared_as_one() {
    let literals = |pattern: Pattern| match Matcher::new(&pattern).expect("a pattern") {
        Matcher::Expression(it) => ("expression", it.begins),
        Matcher::Exact(texts) => ("exact", texts),
        Matcher::Prefix(texts) => ("prefix", texts),
    };
    let kind = |pattern| {
        let (kind, texts) = literals(pattern);
        (kind, texts.iter().map(|text| text.escape_ascii().to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(kind(Pattern::glob("/a/**")), ("prefix", "/a/".into()));
    assert_eq!(kind(Pattern::glob("/a/b")), ("exact", "/a/b".into()));
    assert_eq!(kind(Pattern::regex("^/a.*$")), ("prefix", "/a".into()));
    assert_eq!(kind(Pattern::regex("(/a.*)")), ("prefix", "/a".into()));
    assert_eq!(kind(Pattern::regex(r"/a\.b")), ("exact", "/a.b".into()));
    assert_eq!(kind(Pattern::regex(".*")), ("prefix", "".into()));
    assert_eq!(kind(Pattern::regex("(?u)a.*")), ("expression", "a".into()));
    assert_eq!(kind(Pattern::glob("/a/*/c")), ("expression", "/a/".into()));
    assert_eq!(kind(Pattern::glob("/{a,ab,b}/*")), ("expression", "/a/ /ab/ /b/".into()));
    assert_eq!(kind(Pattern::regex(r"/user/\d+")), ("expression", "/user/".into()));
    assert_eq!(kind(Pattern::glob("*.php")), ("expression", "".into()));
}
