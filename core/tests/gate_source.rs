//! Where the rules of a gate come from while it is in use. Real time and real files are the subject; what is waited for comes within
//! moments, and is given much longer.
#![cfg(all(feature = "gate", not(loom)))]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tidegate::gate::{Events, Format, GateEvent, Rule};
use tidegate::{Gate, gate};

const SOON: Duration = Duration::from_secs(20);
/// Longer than a change takes to be seen.
const A_WHILE: Duration = Duration::from_millis(400);

/// A directory of a test's own, which is gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tidegate-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Without a moment in which it isn't there or not whole.
    fn put(&self, name: &str, text: &str) {
        fs::rename(self.write("new", text), self.at(name)).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
    }
}

fn rules(limit: u64) -> String {
    format!("[[rules]]\nname = 'all'\nconcurrency = {limit}\n")
}

fn limit(gate: &Gate) -> Option<u64> {
    gate.rules().rules.first().and_then(|rule| rule.concurrency)
}

fn eventually(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < SOON, "it never came to be");
        sleep(Duration::from_millis(5));
    }
}

/// A gate that watches a file, and its events after the first.
fn watching(path: &Path) -> (Gate, gate::Watch, Events) {
    let gate = Gate::new([]).unwrap();
    let watch = gate.watch_file(path).unwrap();
    let events = gate.events();
    (gate, watch, events)
}

fn next_fault(events: &Events) -> String {
    match events.next(SOON) {
        Some(GateEvent::ReloadFailed(faults)) => faults.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_read_at_once_and_when_it_is_written_anew() {
    let directory = Directory::new();
    let path = directory.write("rules.toml", &rules(1));
    let (gate, _watch, _events) = watching(&path);
    assert_eq!(limit(&gate), Some(1));
    for number in 2..6 {
        fs::write(&path, rules(number)).unwrap();
        eventually(|| limit(&gate) == Some(number));
    }
}

#[test]
fn a_file_that_is_put_in_its_place_is_seen() {
    let directory = Directory::new();
    let path = directory.write("rules.toml", &rules(1));
    let (gate, _watch, _events) = watching(&path);
    for number in 2..6 {
        directory.put("rules.toml", &rules(number));
        eventually(|| limit(&gate) == Some(number));
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_is_swapped_is_seen_as_kubernetes_does_it() {
    use std::os::unix::fs::symlink;
    let directory = Directory::new();
    directory.write("..1/rules.toml", &rules(1));
    symlink("..1", directory.at("..data")).unwrap();
    symlink("..data/rules.toml", directory.at("rules.toml")).unwrap();
    let (gate, _watch, _events) = watching(&directory.at("rules.toml"));
    assert_eq!(limit(&gate), Some(1));
    for number in 2..6 {
        directory.write(&format!("..{number}/rules.toml"), &rules(number));
        symlink(format!("..{number}"), directory.at("..data_tmp")).unwrap();
        fs::rename(directory.at("..data_tmp"), directory.at("..data")).unwrap();
        fs::remove_dir_all(directory.at(&format!("..{}", number - 1))).unwrap();
        eventually(|| limit(&gate) == Some(number));
    }
}

#[cfg(unix)]
#[test]
fn what_a_link_leads_to_is_watched_and_so_are_links_among_the_directories() {
    use std::os::unix::fs::symlink;
    let directory = Directory::new();
    directory.write("releases/1/rules.toml", &rules(1));
    directory.write("releases/2/rules.toml", &rules(2));
    fs::create_dir(directory.at("etc")).unwrap();
    symlink(directory.at("releases/1"), directory.at("current")).unwrap();
    symlink("../current/rules.toml", directory.at("etc/rules.toml")).unwrap();
    let (gate, _watch, _events) = watching(&directory.at("etc/rules.toml"));

    symlink(directory.at("releases/2"), directory.at("next")).unwrap();
    fs::rename(directory.at("next"), directory.at("current")).unwrap();
    eventually(|| limit(&gate) == Some(2));

    directory.write("releases/2/rules.toml", &rules(3));
    eventually(|| limit(&gate) == Some(3));
}

#[test]
fn what_is_wrong_is_told_once_with_its_line_and_the_rules_stay_until_it_is_right() {
    let directory = Directory::new();
    let path = directory.write("rules.toml", &rules(1));
    let (gate, _watch, events) = watching(&path);

    directory.put("rules.toml", "[[rules]]\nname = 'all'\nconcurrency = 'x'\ncost = 0\n");
    let faults = next_fault(&events);
    let shown = path.display();
    assert!(faults.contains(&format!("{shown}:3: rule all: concurrency: got \"x\"; allowed: ")), "{faults}");
    assert!(faults.contains(&format!("{shown}:4: rule all: cost: got 0; allowed: ")), "{faults}");

    fs::remove_file(&path).unwrap();
    let faults = next_fault(&events);
    assert!(faults.starts_with(&format!("{shown}: file: got ")), "{faults}");
    assert_eq!(limit(&gate), Some(1));
    // Others come and go beside it, so it is looked at.
    directory.write("other", "");
    assert_eq!(events.next(A_WHILE), None, "told already");

    fs::write(&path, rules(2)).unwrap();
    eventually(|| limit(&gate) == Some(2));
}

#[test]
fn a_file_that_says_the_same_changes_nothing() {
    let directory = Directory::new();
    let path = directory.write("rules.toml", &rules(1));
    let (gate, _watch, events) = watching(&path);
    directory.put("rules.toml", &rules(1));
    sleep(A_WHILE / 4);
    directory.put("rules.toml", &rules(1));
    assert_eq!(events.next(A_WHILE), None);
    assert_eq!(limit(&gate), Some(1));
}

#[test]
fn a_file_that_is_faulty_at_the_start_is_not_watched() {
    let directory = Directory::new();
    let gate = Gate::new(Rule::new("all").concurrency(1)).unwrap();
    for (path, expected) in [
        (directory.write("rules.toml", "rules = 1"), "rules: got 1; allowed: a list of rules"),
        (directory.write("rules.txt", &rules(2)), "allowed: a name that ends in .toml, .json, .yaml or .yml"),
        (directory.at("missing.toml"), "allowed: a file of UTF-8 text that can be read"),
    ] {
        let faults = gate.watch_file(&path).unwrap_err().to_string();
        assert!(faults.contains(expected) && faults.contains(path.to_str().unwrap()), "{faults}");
        assert_eq!(limit(&gate), Some(1));
    }
}

#[test]
fn a_file_that_is_gone_is_the_file_of_the_fault() {
    let path = Directory::new().at("rules.toml");
    let faults = Gate::open(&path).unwrap_err();
    let [fault] = &faults.0[..] else { panic!("{faults}") };
    assert_eq!((fault.file.as_deref(), &*fault.argument), (path.to_str(), "file"));
    assert!(!fault.value.contains(path.to_str().unwrap()), "{faults}");
}

#[test]
fn who_drops_the_watch_keeps_the_rules_and_who_detaches_it_keeps_watching() {
    let directory = Directory::new();
    let path = directory.write("rules.toml", &rules(1));
    let (gate, watch, events) = watching(&path);
    let (detached, other, _events) = watching(&path);
    other.detach();
    drop(watch);
    fs::write(&path, rules(2)).unwrap();
    eventually(|| limit(&detached) == Some(2));
    assert_eq!(events.next(A_WHILE), None);
    assert_eq!(limit(&gate), Some(1));
}

#[test]
fn rules_are_pulled_at_once_and_again_when_they_are_new() {
    let gate = Gate::new([]).unwrap();
    let events = gate.events();
    let pulls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pulls);
    let watch = gate.pull(Duration::from_millis(2), Format::Toml, move || {
        let pull = counted.fetch_add(1, Ordering::SeqCst);
        match pull {
            0..10 => Ok(Some(rules(1))),
            10..20 => Ok(None),
            20..30 => Err("no connection".into()),
            30..40 => panic!("on purpose"),
            40..50 => Ok(Some("rules = 1".into())),
            _ => Ok(Some(rules(2))),
        }
    });
    let _watch = watch.unwrap();
    assert!(matches!(events.next(SOON), Some(GateEvent::Reloaded(reloaded)) if reloaded.added == ["all"]));
    assert_eq!(next_fault(&events), "source: got no connection; allowed: rules, or nothing new");
    assert_eq!(next_fault(&events), "source: got it panicked; allowed: rules, or nothing new");
    assert!(next_fault(&events).starts_with("line 1: rules: got 1; allowed: "));
    assert!(matches!(events.next(SOON), Some(GateEvent::Reloaded(reloaded)) if reloaded.changed == ["all"]));
    assert_eq!(limit(&gate), Some(2));
    let before = pulls.load(Ordering::SeqCst);
    eventually(|| pulls.load(Ordering::SeqCst) > before + 10);
    assert_eq!(events.next(Duration::ZERO), None, "what is the same is told once");
}

#[test]
fn no_request_waits_for_a_source_and_neither_does_who_leaves_it() {
    let gate = Gate::new(Rule::new("all").concurrency(1)).unwrap();
    let (started, wait_started) = std::sync::mpsc::channel();
    let (release, wait_release) = std::sync::mpsc::channel();
    let watch = gate.pull(Duration::from_secs(3_600), Format::Toml, move || {
        started.send(()).unwrap();
        wait_release.recv().unwrap();
        Ok(Some(rules(2)))
    });
    let watch = watch.unwrap();
    wait_started.recv().unwrap();
    assert!(gate.enter(&[("path", "/")]).is_ok(), "while the source is being asked");
    drop(watch);
    let events = gate.events();
    release.send(()).unwrap();
    assert_eq!(events.next(A_WHILE), None);
    assert_eq!(limit(&gate), Some(1), "what comes later is left");
}

#[test]
fn a_gate_that_is_gone_ends_its_sources() {
    let gate = Gate::new([]).unwrap();
    let held = Arc::new(());
    let count = Arc::clone(&held);
    let source = move || {
        let _held = &count;
        Ok(None)
    };
    let watch = gate.pull(Duration::from_secs(3_600), Format::Json, source).unwrap();
    watch.detach();
    assert_eq!(Arc::strong_count(&held), 2);
    drop(gate);
    eventually(|| Arc::strong_count(&held) == 1);
}

#[test]
fn pulling_all_the_time_is_refused() {
    let gate = Gate::new([]).unwrap();
    let fault = gate.pull(Duration::ZERO, Format::Json, || Ok(None)).unwrap_err();
    assert_eq!(fault.to_string(), "every: got 0 s; allowed: more than 0 s");
    gate.pull(Duration::MAX, Format::Json, || Ok(None)).unwrap().detach();
}
