//! Runs the vectors of the gate (`tests/vectors/gate`) and prints its answers. Arguments: the files.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate::gate::{EnterError, Entry, Faults, Mode, Refusal, Reloaded, RuleTrace};
use tidegate::{Gate, ManualClock, NEVER_NS};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What a script has made so far.
#[derive(Default)]
struct Script {
    clock: ManualClock,
    gates: HashMap<String, Gate>,
    entries: HashMap<String, Entry>,
}

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        println!("file {}", Path::new(&path).file_name().ok_or("not a file")?.to_string_lossy());
        let folder = Path::new(&path).parent().ok_or("no folder")?;
        let mut script = Script::default();
        for (index, line) in std::fs::read_to_string(&path)?.lines().enumerate() {
            if line.starts_with("script ") {
                println!("{line}");
                script = Script::default();
            } else if !(line.is_empty() || line.starts_with(['#', '='])) {
                let words: Vec<&str> = line.split(' ').collect();
                let answer = script.answer(&words, folder).map_err(|fault| format!("{path}: {line}: {fault}"))?;
                println!("{} {answer}", index + 1);
            }
        }
    }
    Ok(())
}

impl Script {
    fn answer(&mut self, words: &[&str], folder: &Path) -> Result<String> {
        match *words {
            ["gate", name, file] => {
                let gate = Gate::with_clock([], &self.clock)?;
                if let Err(faults) = gate.reload_file(folder.join(file)) {
                    return Ok(told(&faults));
                }
                self.gates.insert(name.to_owned(), gate);
                Ok("ok".to_owned())
            }
            ["reload", name, file] => Ok(match self.gate(name)?.reload_file(folder.join(file)) {
                Ok(reloaded) => changes(&reloaded),
                Err(faults) => told(&faults),
            }),
            ["enter", name, ref request @ ..] => self.enter(name, request),
            ["leave", id, ref rest @ ..] => {
                self.entries.remove(id).ok_or("no such entry")?.release(rest != ["failed"]);
                Ok("ok".to_owned())
            }
            ["explain", name, ref request @ ..] => {
                let (attributes, cost, _) = read(request)?;
                let explained = self.gate(name)?.explain(&attributes, cost);
                let rules: String = explained.rules.iter().map(traced).collect();
                Ok(format!("{}{rules}", explained.status))
            }
            ["stats", name] => {
                let stats = self.gate(name)?.stats();
                let rules = stats.rules.iter().map(|rule| {
                    format!(" {}={}:{}:{}", rule.name, rule.admitted, rule.refused, rule.limiter.in_flight)
                });
                let (ok, failed) = (stats.released_ok, stats.released_failed);
                Ok(format!(
                    "ok admitted={} refused={} unmatched={} ok={ok} failed={failed}{}",
                    stats.admitted,
                    stats.refused,
                    stats.unmatched,
                    rules.collect::<String>()
                ))
            }
            ["advance", ns] => {
                self.clock.advance_ns(ns.parse()?);
                Ok("ok".to_owned())
            }
            _ => Err("no such command".into()),
        }
    }

    fn enter(&mut self, name: &str, request: &[&str]) -> Result<String> {
        let (attributes, cost, id) = read(request)?;
        let entry = match self.gate(name)?.enter_n(&attributes, cost, Duration::ZERO) {
            Ok(entry) => entry,
            Err(EnterError::Refused(refusal)) => return Ok(refused(&refusal)),
            Err(fault) => return Err(fault.into()),
        };
        let mut rules: Vec<_> = entry.rules().map(str::to_owned).collect();
        rules.sort_unstable();
        let told = match entry.applies() {
            true => format!("allowed rules={}", rules.join(",")),
            false => entry.status().name().to_owned(),
        };
        match id {
            Some(id) => drop(self.entries.insert(id.to_owned(), entry)),
            None => entry.release(true),
        }
        Ok(told)
    }

    fn gate(&self, name: &str) -> Result<&Gate> {
        Ok(self.gates.get(name).ok_or("no such gate")?)
    }
}

type Request<'a> = (Vec<(&'a str, &'a str)>, u64, Option<&'a str>);

/// The attributes, the cost, and the name that the entry is kept under.
fn read<'a>(words: &[&'a str]) -> Result<Request<'a>> {
    let (mut attributes, mut cost, mut id) = (Vec::new(), 1, None);
    for word in words {
        match word.split_once('=').ok_or("NAME=VALUE")? {
            ("cost", value) => cost = value.parse()?,
            ("as", value) => id = Some(value),
            attribute => attributes.push(attribute),
        }
    }
    Ok((attributes, cost, id))
}

fn refused(refusal: &Refusal) -> String {
    let waits = match refusal.retry_after_ns {
        None => "others".to_owned(),
        Some(NEVER_NS) => "never".to_owned(),
        Some(ns) => ns.to_string(),
    };
    let Refusal { status, rule, limit, remaining, key, .. } = refusal;
    let key = key.as_ref().map_or_else(String::new, |key| format!(" key={key}"));
    format!("{} rule={rule} limit={limit} remaining={remaining} retry_after={waits}{key}", status.name())
}

fn traced(rule: &RuleTrace) -> String {
    match (rule.mode, rule.status, rule.remaining) {
        (Mode::Off, ..) => format!(" {}=off", rule.rule),
        (_, Some(status), Some(remaining)) => format!(" {}={status}:{remaining}", rule.rule),
        _ => format!(" {}=unmatched", rule.rule),
    }
}

fn changes(reloaded: &Reloaded) -> String {
    let kinds = [
        ("changed", &reloaded.changed),
        ("restarted", &reloaded.restarted),
        ("added", &reloaded.added),
        ("removed", &reloaded.removed),
        ("unchanged", &reloaded.unchanged),
    ];
    let named = kinds.iter().filter(|(_, names)| !names.is_empty());
    named.fold("ok".to_owned(), |told, (kind, names)| format!("{told} {kind}={}", names.join(",")))
}

fn told(faults: &Faults) -> String {
    let places = faults.0.iter().map(|fault| {
        let line = fault.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        format!(" {line}:{}:{}", fault.rule.as_deref().unwrap_or("-"), fault.argument)
    });
    format!("faults{}", places.collect::<String>())
}
