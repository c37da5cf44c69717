//! docs/rules.schema.json is made from the types of rules. `make schema` writes it; this test finds any difference. Whether it
//! takes the rule files that it should is tested in Python, where a validator is at hand.
#![cfg(feature = "gate")]

use tidegate::gate::Rules;

#[test]
fn the_committed_schema_is_that_of_the_sources() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/rules.schema.json");
    let schema = Rules::json_schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &schema).expect("docs/ can be written to");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == schema, "docs/rules.schema.json is not up to date; `make schema` writes it anew");
}
