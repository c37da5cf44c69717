//! Rules from TOML, JSON or YAML text.

mod json;
mod lines;
mod node;
mod reader;
#[cfg(all(test, not(loom)))]
mod tests;
mod toml;
mod yaml;

pub(super) use lines::Lines;

use super::{Fault, Rules};
use crate::{Error, Status};
use node::Source;
use std::path::Path;
use std::str::FromStr;

/// The longest text that is read, in bytes.
pub(super) const MAX_BYTES: usize = 16 << 20;

const FORMATS: &str = "toml, json, yaml";

/// How rules are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// TOML 1.1.
    Toml,
    /// JSON.
    Json,
    /// YAML 1.2: `off` is a text. Aliases are read; merge keys and tags are not.
    Yaml,
}

impl Format {
    /// By the ending of a file's name: `.toml`, `.json`, `.yaml` or `.yml`, in any case.
    #[must_use]
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        path.as_ref().extension()?.to_str()?.to_ascii_lowercase().parse().ok()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    /// `toml`, `json`, `yaml` or `yml`.
    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "toml" => Ok(Self::Toml),
            "json" => Ok(Self::Json),
            "yaml" | "yml" => Ok(Self::Yaml),
            _ => Err(Error::new(Status::InvalidOption, "format", format_args!("{name:?}"), FORMATS)),
        }
    }
}

/// The rules of a text that are sound in themselves, where they are in it, and all that is wrong with it, by line.
///
/// Whatever the text is: it takes linear time, and a stack and memory that are bounded.
pub(super) fn read(text: &str, format: Format, file: Option<&str>) -> (Rules, Lines, Vec<Fault>) {
    let mut found = if text.len() > MAX_BYTES {
        let size = format!("{} bytes", text.len());
        failed(Fault::new("text", size, format_args!("at most {MAX_BYTES} bytes")))
    } else {
        read_source(&Source::new(text.strip_prefix('\u{feff}').unwrap_or(text)), format)
    };
    if file.is_none() && !found.2.is_empty() && is_path(text) {
        let allowed = "the text of rules; `open` is for those of a file";
        found = failed(Fault::new("text", node::brief(&format!("{text:?}")), allowed));
    }
    for fault in &mut found.2 {
        fault.file = file.map(String::from);
    }
    found
}

fn read_source(source: &Source<'_>, format: Format) -> (Rules, Lines, Vec<Fault>) {
    let parsed = match format {
        Format::Toml => toml::parse(source),
        Format::Json => json::parse(source),
        Format::Yaml => yaml::parse(source),
    };
    match parsed {
        Ok(document) => reader::read(source, &document),
        Err((at, why)) => {
            let allowed = format!("{}: {}", format.name(), node::brief(&why));
            failed(Fault { line: Some(source.line(at)), ..Fault::new("text", source.line_at(at), allowed) })
        }
    }
}

/// Whether a text that is no rules is rather the name of a file with some.
fn is_path(text: &str) -> bool {
    !text.contains('\n') && Format::of_path(text).is_some()
}

fn failed(fault: Fault) -> (Rules, Lines, Vec<Fault>) {
    (Rules::default(), Lines::default(), vec![fault])
}
