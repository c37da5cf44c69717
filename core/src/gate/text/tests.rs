use super::{Format, read};
use crate::gate::Rules;

fn faults(text: &str, format: Format) -> Vec<String> {
    read(text, format, None).2.iter().map(ToString::to_string).collect()
}

#[test]
fn scratch() {
    println!("{}", Rules::json_schema());
    for (text, format) in [
        (
            "show_keys = 1\n[[rules]]\nname='a'\nqota='5/s'\n[rules.match]\npath='/x'\nb.globb='x'\nc={exact='a',glob='b'}\n[[rules]]\nquota=[5,'7/s']\nquota='x'\nconcurrency=true\ncost=4.0\nmode='on'\nwhen_full='x'\n[rules.overrides]\na=5\na='x'\n[rules.match.path]\nexact='x'\n[rules.match.path]\nglob='y'\n[[rules]]\nname='z'",
            Format::Toml,
        ),
        ("[[rules]]\nname = = 'a'\n x\n", Format::Toml),
        (
            "{\"rules\":[\n{\"name\":\"a\",\n \"quota\":5, \"quota\":\n\"6/s\", \"match\":{\"p\":{\"exact\":[[[[1]]]]}}, \"max_keys\":1e3},\n 5]}",
            Format::Json,
        ),
        ("{\"rules\":[\n{\"name\":\"\\ud800\"}]}", Format::Json),
        ("{\"rules\":[\n{'name':1}]}", Format::Json),
        ("{\"rules\":[\n{}] // x\n}", Format::Json),
        ("", Format::Json),
        ("", Format::Yaml),
        ("", Format::Toml),
        (
            "rules:\n- name: a\n  mode: off\n  mode: false\n  quota: &q\n    - 5/s\n    - 3\n  match:\n    200: {exact: 5}\n    x: !!str 5\n- name: b\n  quota: *q\n",
            Format::Yaml,
        ),
        (
            "rules:\n- name: a\n  mode: off\n  mode: false\n  quota: &q\n    - 5/s\n    - 3\n  match:\n    200: {exact: 5}\n- name: b\n  quota: *q\n- 7\n- \n  name: 0x10\n  cost: -3\n  concurrency: 0x10\n  timeout: 50.0\n  key: [~, .inf, 'null', yes]",
            Format::Yaml,
        ),
        ("rules:\n- name: a\n  foo: [\n- x: y\n\tz: d", Format::Yaml),
        ("rules:\n- *a", Format::Yaml),
        ("rules: &r\n- *r", Format::Yaml),
        ("rules: []\n---\nrules: []\n", Format::Yaml),
    ] {
        println!("--- {text}\n=>");
        for f in faults(text, format) {
            println!("{f}");
        }
    }
}
