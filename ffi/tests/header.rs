//! include/tidegate.h is made from the sources of this crate, a chapter from each file. `make header` writes it; this test
//! finds any difference.

use cbindgen::{Builder, Config, ExportConfig, Language, Style};
use std::fmt::Write;
use std::path::Path;

/// The files of `src/`, in the order of a manual.
const CHAPTERS: [&str; 26] = [
    "status",
    "object",
    "rate_limiter",
    "decision",
    "concurrency_limiter",
    "waiting",
    "ticket",
    "reservation",
    "quota",
    "stats",
    "key",
    "keyed_rate_limiter",
    "keyed_decision",
    "key_quota",
    "denied_key",
    "keyed_concurrency_limiter",
    "keyed_waiting",
    "gate",
    "gate_entry",
    "gate_refusal",
    "gate_entering",
    "gate_rules",
    "gate_watch",
    "gate_events",
    "text",
    "clock",
];

const OPEN: &str = "\
#ifndef TIDEGATE_H
#define TIDEGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const CLOSE: &str = "
#ifdef __cplusplus
} /* extern \"C\" */
#endif

#endif /* TIDEGATE_H */
";

fn config() -> Config {
    Config {
        language: Language::C,
        style: Style::Both,
        no_includes: true,
        usize_is_size_t: true,
        line_length: 100,
        tab_width: 4,
        export: ExportConfig {
            // Types of a chapter that no function of the same chapter mentions.
            include: [
                "rate_limiter",
                "concurrency_limiter",
                "keyed_rate_limiter",
                "keyed_concurrency_limiter",
                "gate",
                "entry",
                "refusal",
                "text",
                "clock",
                "permit",
            ]
            .map(|name| format!("tidegate_{name}"))
            .into(),
            ..ExportConfig::default()
        },
        ..Config::default()
    }
}

/// The `//!` lines of a file as a comment of C, its title underlined.
fn opening(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut comment = String::from("/*\n");
    for line in lines {
        match line.strip_prefix(" # ") {
            Some(title) => writeln!(comment, " * {title}\n * {}", "=".repeat(title.len())),
            None => writeln!(comment, " *{line}"),
        }
        .expect("a string takes any text");
    }
    comment + " */\n\n"
}

fn chapter(path: &Path) -> String {
    let source = std::fs::read_to_string(path).expect("a source of this crate");
    let bindings = Builder::new().with_config(config()).with_src(path).generate().expect("sources that cbindgen reads");
    let mut declarations = Vec::new();
    bindings.write(&mut declarations);
    let declarations = String::from_utf8(declarations).expect("cbindgen writes UTF-8");
    opening(&source) + &on_one_line(declarations.trim())
}

/// Comments of a single line, which cbindgen spreads over three, on one.
fn on_one_line(declarations: &str) -> String {
    let lines: Vec<&str> = declarations.lines().collect();
    let mut text = String::new();
    let mut rest = lines.as_slice();
    while let [line, more @ ..] = rest {
        rest = more;
        match more {
            [only, close, after @ ..] if line.trim() == "/**" && close.trim() == "*/" => {
                text += &only.replacen("* ", "/** ", 1).replacen(" /**", "/**", 1);
                text += " */";
                rest = after;
            }
            _ => text += line,
        }
        text += "\n";
    }
    text
}

fn header() -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let overview = std::fs::read_to_string(sources.join("lib.rs")).expect("a source of this crate");
    let chapters = CHAPTERS.map(|name| chapter(&sources.join(name).with_extension("rs")));
    opening(&overview) + OPEN + &chapters.join("\n\n") + CLOSE
}

#[test]
fn the_committed_header_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/tidegate.h");
    let header = header();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, header).expect("the header can be written");
    } else {
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == header, "include/tidegate.h is not what ffi/src says: run `make header`");
    }
}
