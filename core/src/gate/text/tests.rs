#![allow(clippy::unwrap_used)]

use super::reader::FIELDS;
use super::{Format, MAX_BYTES, read};
use crate::gate::{Fault, Mode, Pattern, Rule, Rules};
use crate::{MAX_COST, WhenFull};
use proptest::prelude::*;
use std::fmt::Write;

const FORMATS: [Format; 3] = [Format::Toml, Format::Json, Format::Yaml];

fn faults(text: &str, format: Format) -> Vec<Fault> {
    read(text, format, None).2
}

fn shown(text: &str, format: Format) -> Vec<String> {
    faults(text, format).iter().map(ToString::to_string).collect()
}

fn sound(text: &str, format: Format) -> Rules {
    let (rules, _, faults) = read(text, format, None);
    assert_eq!(faults, [], "{text}");
    rules
}

/// The numbers that a rule of `name = value` has as its cost, or what is said of it.
fn cost(format: Format, value: &str) -> Result<Option<u64>, String> {
    let text = match format {
        Format::Toml => format!("[[rules]]\nname = 'a'\ncost = {value}\n"),
        Format::Json => format!("{{\"rules\": [{{\"name\": \"a\", \"cost\": {value}}}]}}"),
        Format::Yaml => format!("rules:\n- name: a\n  cost: {value}\n"),
    };
    let (rules, _, faults) = read(&text, format, None);
    match faults.first() {
        None => Ok(rules.rules[0].cost),
        Some(fault) => Err(fault.to_string()),
    }
}

#[test]
fn who_gives_the_path_of_a_file_for_its_text_is_told_so() {
    let told = "text: got \"conf/rules.toml\"; allowed: the text of rules; `open` is for those of a file";
    for format in FORMATS {
        assert_eq!(shown("conf/rules.toml", format), [told]);
    }
    assert_eq!(sound("rules = [] # as in rules.toml", Format::Toml), Rules::default());
    assert!(shown("rules.ini", Format::Toml)[0].starts_with("line 1: text: got rules.ini; allowed: TOML: "));
    let (.., in_file) = read("other.yaml", Format::Yaml, Some("rules.yaml"));
    assert!(!in_file[0].allowed.contains("open"), "{}", in_file[0]);
}

#[test]
fn all_that_is_wrong_is_told_at_once_by_line_rule_and_argument() {
    let toml = "show_keys = 1\n[[rules]]\nname = 'a'\nqouta = '5/s'\nmatch.path = '/x'\nmatch.host = {globb = 'x'}\n\
                match.method = {exact = 'a', glob = 'b'}\n[[rules]]\nquota = [5, '7/s']\nmode = 'on'\n\
                timeout = 50\n[rules.overrides]\na = 5\n[[rules]]\nname = 'sound'\nquota = '5/s'\n";
    assert_eq!(
        shown(toml, Format::Toml),
        [
            "line 1: show_keys: got 1; allowed: true, false",
            &format!("line 4: rule a: qouta: got \"qouta\"; allowed: {FIELDS}"),
            "line 5: rule a: match.path: got \"/x\"; allowed: a map of exactly one of exact, prefix, glob and regex",
            "line 6: rule a: match.host.globb: got \"globb\"; allowed: exact, prefix, glob, regex",
            "line 7: rule a: match.method: got {exact = 'a', glob = 'b'}; allowed: a map of exactly one of exact, prefix, \
             glob and regex",
            "line 8: rule #2: name: got nothing; allowed: a text that isn't empty",
            "line 9: rule #2: quota: got 5; allowed: a text",
            "line 10: rule #2: mode: got \"on\"; allowed: \"enforce\", \"shadow\", \"off\"",
            "line 11: rule #2: timeout: got 50; allowed: a text such as \"50ms\", or \"call\"",
            "line 13: rule #2: overrides.a: got 5; allowed: a text or a list of texts",
        ]
    );
    let json = "{\"rules\": [\n {\"name\": \"a\", \"match\": {\n  \"path\": {\"exact\": [\"x\", [[1]]]}}},\n 5]}";
    let yaml = "rules:\n- name: a\n  match:\n    path: {exact: [x, [[1]]]}\n- 5\n";
    for (text, format, lines) in [(json, Format::Json, [3, 4]), (yaml, Format::Yaml, [4, 5])] {
        let [first, second] = lines;
        assert_eq!(
            shown(text, format),
            [
                format!("line {first}: rule a: match.path.exact: got [[1]]; allowed: a text"),
                format!("line {second}: rule #2: rules: got 5; allowed: a map of the fields of a rule"),
            ]
        );
    }
}

#[test]
fn every_faulty_case_is_told_of_by_its_argument() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../../../../tests/rules/faulty.json")).unwrap();
    for case in cases["cases"].as_array().unwrap() {
        let arguments: Vec<String> =
            faults(&case["file"].to_string(), Format::Json).into_iter().map(|fault| fault.argument).collect();
        assert_eq!(arguments, [case["argument"].as_str().unwrap()], "{case}");
    }
}

#[test]
fn a_file_says_the_same_in_each_format() {
    let [toml, json, yaml] = [
        sound(include_str!("../../../../tests/rules/example.toml"), Format::Toml),
        sound(include_str!("../../../../tests/rules/example.json"), Format::Json),
        sound(include_str!("../../../../tests/rules/example.yaml"), Format::Yaml),
    ];
    assert_eq!(toml, json);
    assert_eq!(toml, yaml);
    let search = Rule::new("search")
        .matching("path", Pattern::prefix("/search"))
        .matching("method", Pattern::Exact(vec!["GET".into(), "HEAD".into()]))
        .key(["client"])
        .quota("100/s burst 20")
        .quota("10000/h")
        .override_quota("partner-a", "5000/s")
        .max_keys(50_000)
        .when_full(WhenFull::DenyNew);
    assert_eq!(toml.rules[0], search);
    assert_eq!((toml.show_keys, toml.rules[1].concurrency, toml.rules[2].mode), (true, Some(4), Mode::Shadow));
}

#[test]
fn sound_rules_come_back_beside_faulty_ones_and_know_their_lines() {
    let toml = "[[rules]]\nname = 'a'\ncost = -1\n\n[[rules]]\nname = 'b'\nquota = '5/s'\nmatch.path.exact = '/x'\n\n\
                [rules.overrides]\npartner-a = '7/s'\n\"x.y\" = '8/s'\n";
    let json = "{\"rules\": [{\"name\": \"a\", \"cost\": -1},\n\n\n\n{\n\"name\": \"b\",\n\"quota\": \"5/s\",\n\"match\": {\
                \"path\": {\"exact\": \"/x\"}},\n\n\"overrides\": {\n\"partner-a\": \"7/s\",\n\"x.y\": \"8/s\"}}]}";
    let yaml = "rules: [{name: a, cost: -1},\n\n\n\n{\nname: b,\nquota: 5/s,\nmatch: {path: {exact: /x}},\n\noverrides: {\n\
                partner-a: 7/s,\nx.y: 8/s}}]";
    for (text, format) in [(toml, Format::Toml), (json, Format::Json), (yaml, Format::Yaml)] {
        let (rules, lines, faults) = read(text, format, Some("rules.txt"));
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!((faults[0].file.as_deref(), &*faults[0].argument), (Some("rules.txt"), "cost"));
        assert_eq!(rules.rules[1].name, "b");
        let at = |argument| lines.of(1, argument).unwrap();
        assert_eq!((at("timeout"), at("name"), at("quota")), (5, 6, 7), "{format:?}");
        assert_eq!((at("match.path"), at("match.path.exact"), at("match.host")), (8, 8, 8), "{format:?}");
        assert_eq!((at("overrides"), at("overrides.partner-a"), at("overrides.x.y")), (10, 11, 12), "{format:?}");
        assert_eq!(
            (lines.of(0, "cost"), lines.of(2, "quota")),
            (Some(if format == Format::Toml { 3 } else { 1 }), None)
        );
    }
}

#[test]
fn what_is_wrong_beside_a_fault_of_the_text_is_told_unless_it_may_come_of_it() {
    let text = "[[rules]]\nname = 'a'\nqouta = '5/s'\ncost = 0\nmatch.path = '/x'\nmatch.host.glob = '['\n\
                [[rules]]\nname = 'b'\n";
    let (_, lines, faults) = read(text, Format::Toml, None);
    assert_eq!(faults.len(), 2);
    let is_told = |argument| lines.is_told(0, argument);
    assert!(is_told("cost") && is_told("match.host") && is_told("match.host.glob"), "each is sound as text");
    assert!(!is_told("match.path") && !is_told("match.path.glob") && !is_told("qouta"), "told already");
    assert!(!is_told("quota") && !is_told("concurrency"), "missing, perhaps by mistake");
    assert!(lines.is_told(1, "quota") && lines.is_told(2, "quota"), "nothing is wrong with the text there");
}

#[test]
fn a_text_that_is_not_of_its_format_is_one_fault_with_its_line() {
    for (text, format, line, start) in [
        ("[[rules]]\nname = = 'a'\n x\n", Format::Toml, 2, "got name = = 'a'; allowed: TOML: "),
        ("[[rules]]\nname = 'a", Format::Toml, 2, "got name = 'a; allowed: TOML: "),
        ("{\"rules\": [\n{'name': 1}]}", Format::Json, 2, "got {'name': 1}]}; allowed: JSON: "),
        ("{\"rules\": [\n{\"name\": \"\\ud800\"}]}", Format::Json, 2, "got {\"name\": \"\\ud800\"}]}; allowed: JSON: "),
        ("{\"rules\": []\n}}", Format::Json, 2, "got }}; allowed: JSON: trailing characters"),
        ("{\"rules\": [\n", Format::Json, 2, "got nothing; allowed: JSON: EOF"),
        ("rules:\n- name: a\n  key: [\n- x", Format::Yaml, 4, "got - x; allowed: YAML: "),
        ("rules:\n- *a\n", Format::Yaml, 2, "got - *a; allowed: YAML: "),
        ("rules: []\n---\nrules: []\n", Format::Yaml, 2, "got ---; allowed: YAML: one document"),
        ("rules:\n- name: !!str 5\n", Format::Yaml, 2, "got - name: !!str 5; allowed: YAML: values without a tag"),
        ("rules:\n- [a]: b\n", Format::Yaml, 2, "got - [a]: b; allowed: YAML: names that are texts"),
    ] {
        let shown = shown(text, format);
        assert_eq!(shown.len(), 1, "{text}: {shown:?}");
        assert!(shown[0].starts_with(&format!("line {line}: text: {start}")), "{text}: {shown:?}");
    }
}

#[test]
fn an_empty_or_half_written_file_does_not_take_the_rules_away() {
    for format in FORMATS {
        for text in ["", "\n", " "] {
            assert_eq!(faults(text, format).len(), 1, "{format:?} {text:?}");
        }
    }
    assert_eq!(shown("show_keys: true", Format::Yaml).len(), 1);
    for (text, format) in [("rules = []", Format::Toml), ("{\"rules\": []}", Format::Json), ("rules: []", Format::Yaml)]
    {
        assert_eq!(sound(text, format), Rules::default());
    }
}

#[test]
fn what_is_written_twice_is_told_of_where_it_is_the_second_time() {
    let toml = "show_keys = true\nshow_keys = true\n[[rules]]\nname = 'a'\nquota = '5/s'\n[[rules]]\nname = 'b'\nquota = '5/s'\n\
                quota = '7/s'\n";
    assert_eq!(
        shown(toml, Format::Toml),
        [
            "line 2: show_keys: got show_keys = true again; allowed: it once",
            "line 9: rule b: quota: got quota = '7/s' again; allowed: it once",
        ]
    );
    assert_eq!(shown("show_keys = true\nshow_keys = true\n", Format::Toml).len(), 2, "and there are no rules");
    let json = "{\"rules\": [{\"name\": \"a\",\n\"overrides\": {\"x\": \"1/s\",\n\"x\": \"2/s\"}, \"name\": \"b\"}]}";
    assert_eq!(
        shown(json, Format::Json),
        [
            "line 3: rule a: name: got \"b\" again; allowed: it once; see line 1",
            "line 3: rule a: overrides.x: got \"2/s\" again; allowed: it once; see line 2",
        ]
    );
    let yaml = "rules:\n- name: a\n  match:\n    path: {exact: /a}\n    path: {glob: /b}\n";
    assert_eq!(
        shown(yaml, Format::Yaml),
        ["line 5: rule a: match.path: got {glob: /b} again; allowed: it once; see line 4"]
    );
}

#[test]
fn a_number_is_a_whole_one_that_every_language_can_say() {
    for format in FORMATS {
        for (written, number) in [("0", 0), ("17", 17), ("9007199254740991", MAX_COST)] {
            assert_eq!(cost(format, written), Ok(Some(number)), "{format:?}");
        }
        for written in ["true", "4.0", "-1", "1e3", "\"4\"", "9007199254740992", "99999999999999999999", "[4]"] {
            let fault = cost(format, written).unwrap_err();
            let expected = format!("cost: got {written}; allowed: whole numbers from 0 to 9007199254740991");
            assert!(fault.ends_with(&expected), "{format:?}: {fault}");
        }
    }
    assert_eq!(cost(Format::Toml, "1_000"), Ok(Some(1_000)));
    assert_eq!(cost(Format::Toml, "0x10"), Ok(Some(16)));
    assert_eq!(cost(Format::Yaml, "0x10"), Ok(Some(16)));
    assert_eq!(cost(Format::Yaml, "0o10"), Ok(Some(8)));
    for (format, written) in [(Format::Json, "null"), (Format::Yaml, "~"), (Format::Toml, "1979-05-27")] {
        assert!(cost(format, written).unwrap_err().contains(&format!("cost: got {written}; ")), "{format:?}");
    }
}

#[test]
fn yaml_is_that_of_1_2_where_off_is_a_text_and_json_is_json() {
    let yaml = "rules:\n- {name: yes, mode: off, quota: 5/s, overrides: {200: 7/s, true: 8/s}}\n";
    let rule = &sound(yaml, Format::Yaml).rules[0];
    assert_eq!((&*rule.name, rule.mode), ("yes", Mode::Off));
    assert_eq!(rule.overrides.keys().collect::<Vec<_>>(), ["200", "true"], "names are as they are written");
    for name in ["5", "0x5", "1.5", ".5", "1e5", "true", "null", "~", "", ".inf", "-.INF", ".NaN"] {
        assert_eq!(shown(&format!("rules:\n- name: {name}\n"), Format::Yaml).len(), 1, "{name}");
    }
    for name in ["0b5", "1.2.3", "inf", "nan", "e5", "--", "+", "0x", "1_000", "12:30", "'5'", "\"true\"", "No"] {
        let bare = name.trim_matches(['\'', '"']);
        assert_eq!(sound(&format!("rules:\n- name: {name}\n"), Format::Yaml).rules[0].name, bare);
    }
    for json in [
        "{rules: []}",
        "{'rules': []}",
        "{\"rules\": [],}",
        "{\"rules\": []} # a",
        "rules: []",
        "// a\n{\"rules\": []}",
    ] {
        assert_eq!(shown(json, Format::Json).len(), 1, "{json}");
    }
}

#[test]
fn aliases_stand_for_what_they_name_and_cannot_blow_up() {
    let yaml = "rules:\n- name: a\n  quota: &quota [5/s, 9/min]\n  match: {path: &p {exact: &text /a}}\n\
                - {name: b, quota: *quota, match: {path: *p}, key: *text}\n";
    let rules = sound(yaml, Format::Yaml).rules;
    assert_eq!(rules[0].quota, rules[1].quota);
    assert_eq!(rules[0].matches, rules[1].matches);
    assert_eq!(rules[1].key, ["/a"]);

    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for level in 1..30 {
        let alias = format!("*a{}, ", level - 1);
        writeln!(bomb, "a{level}: &a{level} [{}]", alias.repeat(9)).unwrap();
    }
    let long = format!("a: &a \"\\n{}\"\nrules: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(10_000));
    for yaml in [&*bomb, &long] {
        let shown = shown(yaml, Format::Yaml);
        assert!(shown.len() == 1 && shown[0].contains("aliases that stand for at most 16777216 bytes"), "{shown:?}");
    }
    assert_eq!(shown("rules: &a [*a]", Format::Yaml).len(), 1);
}

#[test]
fn deep_nesting_is_a_fault_and_no_crash() {
    const DEEP: usize = 100_000;
    let nested = |open: &str, close: &str| open.repeat(DEEP) + &close.repeat(DEEP);
    let compact = "- ".repeat(DEEP);
    let dotted = format!("{}a = 1", "a.".repeat(DEEP));
    for (format, texts) in [
        (Format::Json, vec![nested("[", "]"), nested("{\"rules\":", "}").replace(":}", ":1}"), nested("[", "")]),
        (Format::Yaml, vec![nested("[", "]"), nested("{a: ", "}"), compact, nested("? ", ""), nested("[", "")]),
        (
            Format::Toml,
            vec![
                format!("a = {}", nested("[", "]")),
                format!("a = {}1{}", "{a=".repeat(DEEP), "}".repeat(DEEP)),
                dotted,
            ],
        ),
    ] {
        for text in texts {
            let faults = faults(&text, format);
            assert!(!faults.is_empty(), "{format:?} {}", &text[..20]);
            assert!(faults[0].to_string().len() < 500, "{}", faults[0]);
        }
    }
    let text = format!("{{\"rules\": [{{\"name\": \"a\", \"quota\": {}}}]}}", nested("[", "]"));
    assert!(shown(&text, Format::Json)[0].starts_with("line 1: rule a: quota: got [[[["));
}

#[test]
fn faults_stay_short_and_few_whatever_the_text() {
    let text = format!("{{\"rules\": [], \"show_keys\": \"{}\"}}", "é\\n".repeat(100_000));
    assert!(shown(&text, Format::Json)[0].chars().count() < 300);
    let text = format!("{{\"rules\": [{}5]}}", "5,".repeat(4_999));
    let faults = faults(&text, Format::Json);
    assert_eq!(faults.len(), 1_001);
    assert_eq!(faults[1_000].to_string(), "text: got more than 1000 faults; allowed: none");
    let text = format!("rules = [] # {}", "x".repeat(MAX_BYTES));
    assert_eq!(shown(&text, Format::Toml), ["text: got 16777229 bytes; allowed: at most 16777216 bytes"]);
}

#[test]
fn a_byte_order_mark_is_skipped_and_a_schema_may_be_named() {
    for (text, format) in [("rules = []", Format::Toml), ("{\"rules\": []}", Format::Json), ("rules: []", Format::Yaml)]
    {
        sound(&format!("\u{feff}{text}"), format);
    }
    sound("{\"$schema\": \"https://example.org/rules.schema.json\", \"rules\": []}", Format::Json);
}

#[test]
fn a_format_is_known_by_the_end_of_the_name() {
    let of = |path: &str| Format::of_path(path);
    assert_eq!(of("/etc/a.json/rules.toml"), Some(Format::Toml));
    assert_eq!((of("r.JSON"), of("r.yaml"), of("r.yml")), (Some(Format::Json), Some(Format::Yaml), Some(Format::Yaml)));
    assert_eq!((of("rules"), of(".toml"), of("rules.txt")), (None, None, None));
    let mistake = "ini".parse::<Format>().unwrap_err();
    assert_eq!(mistake.to_string(), "format: got \"ini\"; allowed: toml, json, yaml");
}

#[test]
fn the_fields_that_are_read_are_those_of_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(&Rules::json_schema()).unwrap();
    let mut fields: Vec<&str> = FIELDS.split(", ").collect();
    fields.sort_unstable();
    let properties = schema["$defs"]["Rule"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), fields);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/]{1,8}",
        "\\PC{1,6}",
        prop::sample::select(vec![
            "true", "5", "~", "a: b", "# x", "\n", "\"", "'", "*a", "&a", " a ", "a\tb", "\u{0}", "<<"
        ])
        .prop_map(String::from),
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..4)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    (0..4, texts()).prop_map(|(mode, texts)| match mode {
        0 => Pattern::Exact(texts),
        1 => Pattern::Prefix(texts),
        2 => Pattern::Glob(texts),
        _ => Pattern::Regex(texts),
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let number = || prop::option::of(0..=MAX_COST);
    let mode = prop::sample::select(vec![Mode::Enforce, Mode::Shadow, Mode::Off]);
    let when_full = prop::option::of(prop::sample::select(vec![WhenFull::Evict, WhenFull::DenyNew]));
    let words = (text(), texts(), texts(), prop::option::of(text()), mode, when_full);
    let numbers = (number(), number(), number(), number());
    let maps =
        (prop::collection::btree_map(text(), pattern(), 0..4), prop::collection::btree_map(text(), texts(), 0..4));
    (words, numbers, maps).prop_map(|(words, numbers, (matches, overrides))| {
        let (name, key, quota, timeout, mode, when_full) = words;
        let (concurrency, max_waiters, cost, max_keys) = numbers;
        Rule {
            name,
            matches,
            key,
            quota,
            concurrency,
            timeout,
            max_waiters,
            mode,
            cost,
            max_keys,
            when_full,
            overrides,
        }
    })
}

proptest! {
    #[test]
    fn rules_that_are_written_are_read_as_they_were(show_keys: bool, rules in prop::collection::vec(rule(), 0..4)) {
        let rules = Rules { show_keys, rules };
        let json = serde_json::to_string_pretty(&rules).unwrap();
        prop_assert_eq!(&sound(&json, Format::Json), &rules);
        prop_assert_eq!(&sound(&::toml::to_string(&rules).unwrap(), Format::Toml), &rules);
        prop_assert_eq!(&sound(&json, Format::Yaml), &rules);
    }

    #[test]
    fn no_text_makes_it_panic(parts in prop::collection::vec(prop_oneof![text(), "[-\\[\\]{}:,=?|>!%@`\\.\r\n \"'#&*]{1,3}"], 0..40)) {
        for format in FORMATS {
            faults(&parts.concat(), format);
        }
    }

    #[test]
    fn a_sound_text_that_is_cut_or_pierced_does_not_make_it_panic(cut: prop::sample::Index, len in 0..4_usize) {
        for (text, format) in [
            (include_str!("../../../../tests/rules/example.toml"), Format::Toml),
            (include_str!("../../../../tests/rules/example.json"), Format::Json),
            (include_str!("../../../../tests/rules/example.yaml"), Format::Yaml),
        ] {
            let at = cut.index(text.len());
            faults(&text[..at], format);
            faults(&format!("{}{}", &text[..at], text.get(at + len..).unwrap_or_default()), format);
        }
    }
}
