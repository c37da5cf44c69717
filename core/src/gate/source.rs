//! Where rules come from while a gate is in use: a file that is watched, or whatever a callback pulls them from. Each is looked at on
//! a thread of its own; no request waits for it. What can't be had or is wrong changes nothing, and is told as an event.

use super::text::MAX_BYTES;
use super::{Fault, Faults, Format, Gate, GateEvent, Shared};
use crate::lock::Lock;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The error of a callback that rules are pulled from.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The text of a file and how it is written; or why there is none.
pub(super) type FileText = Result<(String, Format), Faults>;

/// When a file is looked at.
#[derive(Clone, Copy)]
struct Pace {
    /// After a change, once there was none for so long: who writes a file does so in several steps.
    settled: Duration,
    /// But after so long at the latest, however busy the directory is.
    at_latest: Duration,
    /// Whether or not a change was seen: not every file system tells.
    poll: Duration,
}

impl Pace {
    /// Soon, whatever else goes on in the directory.
    fn of_the_next_look(self) -> Self {
        Self { at_latest: self.settled, poll: self.settled, ..self }
    }
}

const PACE: Pace =
    Pace { settled: Duration::from_millis(50), at_latest: Duration::from_secs(1), poll: Duration::from_secs(30) };

/// The most that a thread sleeps before it looks whether its gate is still there.
const NAP: Duration = Duration::from_secs(1);

/// How many links lead to a file at most, one to the next; as on Linux.
const MAX_LINKS: u32 = 40;

/// Keeps a gate's rules as a source has them, until it is dropped or the gate is gone.
#[must_use = "the source is left when this is dropped; `detach` keeps it for as long as there is the gate"]
pub struct Watch {
    /// `None` once it is detached.
    watched: Option<(Arc<Signals>, Thread)>,
}

#[derive(Default)]
struct Signals {
    /// Held while rules are changed, so that none are changed after the end.
    is_over: Lock<bool>,
    is_changed: AtomicBool,
}

impl Watch {
    /// Goes on for as long as there is the gate.
    pub fn detach(mut self) {
        self.watched = None;
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Drop for Watch {
    /// From here on the rules stay as they are. Waits for a change of rules that has begun, and not for the source.
    fn drop(&mut self) {
        if let Some((signals, thread)) = self.watched.take() {
            *signals.is_over.lock() = true;
            thread.unpark();
        }
    }
}

impl Gate {
    /// Reads the rules of a file, as [`reload_file`](Self::reload_file) does, and again whenever the file changes: in place, by a rename,
    /// or when one of the links to it leads elsewhere, as those of Kubernetes do. A change is seen at once where the file system tells
    /// of it, and within 30 s everywhere. What is wrong is told as [`GateEvent::ReloadFailed`], once; the rules are as they were.
    ///
    /// The thread that does so isn't there in the child of a fork: call it there again.
    ///
    /// # Errors
    ///
    /// All that is wrong with the file now, or why it can't be read or watched. It isn't watched then.
    pub fn watch_file(&self, path: impl AsRef<Path>) -> Result<Watch, Faults> {
        self.watch_file_at(path.as_ref(), PACE, true)
    }

    fn watch_file_at(&self, path: &Path, pace: Pace, is_told: bool) -> Result<Watch, Faults> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let read = read_file(&path);
        self.reload_read(&read, &path)?;
        self.watch("tidegate-file", move |watched| {
            let mut file = WatchedFile { path, read, seen: None, is_told, directories: Vec::new(), watcher: None };
            file.watch_directories(&watched, true);
            // Perhaps it did before its directories were watched.
            watched.signals.is_changed.store(true, Ordering::Relaxed);
            loop {
                let slept = watched.settle(if file.seen.is_some() { pace.of_the_next_look() } else { pace });
                if slept == Slept::Over {
                    return;
                }
                file.watch_directories(&watched, slept == Slept::Through);
                if !file.look(&watched) {
                    return;
                }
            }
        })
    }

    /// Asks `source` for rules at once, and then time and again, `every` so often, 10 % sooner or later by chance, so that many
    /// processes don't ask all at the same time. `None` says that they are as they were. An error, which may be a panic, or rules
    /// that are wrong are told as [`GateEvent::ReloadFailed`], once for as long as they are the same; the rules are as they were.
    ///
    /// The thread that does so isn't there in the child of a fork: call it there again.
    ///
    /// # Errors
    ///
    /// If `every` is 0, or the system gives no thread.
    pub fn pull(
        &self,
        every: Duration,
        format: Format,
        mut source: impl FnMut() -> Result<Option<String>, SourceError> + Send + 'static,
    ) -> Result<Watch, Faults> {
        if every.is_zero() {
            return Err(Faults::one("every", "0 s", "more than 0 s"));
        }
        self.watch("tidegate-pull", move |watched| {
            let mut last = None;
            loop {
                let pulled = catch_unwind(AssertUnwindSafe(&mut source)).unwrap_or_else(|_| Err("it panicked".into()));
                let pulled = pulled.map_err(|error| error.to_string()).transpose();
                let is_new = pulled.is_some() && pulled != last;
                if is_new && !watched.change(|gate| gate.reload_pulled(pulled.as_ref(), format)) {
                    return;
                }
                last = pulled.or(last);
                if watched.sleep(every.mul_f64(jitter())) == Slept::Over {
                    return;
                }
            }
        })
    }

    fn reload_pulled(&self, pulled: Option<&Result<String, String>>, format: Format) {
        let _told = match pulled {
            Some(Ok(text)) => self.reload(text, format).map(drop),
            Some(Err(error)) => self.refuse(Faults::one("source", error, "rules, or nothing new")),
            None => Ok(()),
        };
    }

    /// [`reload_file`](Self::reload_file) of what was read of the file.
    pub(super) fn reload_read(&self, read: &FileText, path: &Path) -> Result<super::Reloaded, Faults> {
        match read {
            Ok((text, format)) => self.reload_from(text, *format, Some(&path.display().to_string())),
            Err(faults) => self.refuse(faults.clone()),
        }
    }

    fn refuse<T>(&self, faults: Faults) -> Result<T, Faults> {
        self.reload_failed(faults.clone());
        Err(faults)
    }

    /// Tells who listens that rules couldn't be had: for who gets them on a thread of their own.
    pub fn reload_failed(&self, faults: Faults) {
        self.shared.tell(|| GateEvent::ReloadFailed(faults));
    }

    fn watch(&self, name: &str, run: impl FnOnce(Watched) + Send + 'static) -> Result<Watch, Faults> {
        let signals = Arc::new(Signals::default());
        let watched = Watched { gate: Arc::downgrade(&self.shared), signals: Arc::clone(&signals) };
        match thread::Builder::new().name(name.into()).spawn(move || run(watched)) {
            Ok(thread) => Ok(Watch { watched: Some((signals, thread.thread().clone())) }),
            Err(error) => Err(Faults::one("thread", error, "one that the system gives")),
        }
    }
}

impl Faults {
    fn one(argument: &str, value: impl fmt::Display, allowed: &str) -> Self {
        Self(vec![Fault::new(argument, value, allowed)])
    }
}

/// What a file says; or why it can't be read.
pub(super) fn read_file(path: &Path) -> FileText {
    let format = Format::of_path(path)
        .ok_or_else(|| Faults::one("file", path.display(), "a name that ends in .toml, .json, .yaml or .yml"))?;
    let mut text = String::new();
    // One more than is read as rules, which tells that it is too long.
    match File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)) {
        Ok(_) => Ok((text, format)),
        Err(error) => {
            let fault = Fault::new("file", error, "a file of UTF-8 text that can be read");
            Err(Faults(vec![Fault { file: Some(path.display().to_string()), ..fault }]))
        }
    }
}

/// A factor by which times are apart: 0.9 … 1.1.
fn jitter() -> f64 {
    let random = RandomState::new().hash_one(());
    0.9 + 0.2 * (random as f64 / u64::MAX as f64)
}

/// What the thread of a source knows.
struct Watched {
    gate: Weak<Shared>,
    signals: Arc<Signals>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slept {
    /// As long as was asked for.
    Through,
    /// Until something changed.
    Changed,
    /// Until the end.
    Over,
}

impl Watched {
    /// Whether it goes on.
    fn change(&self, change: impl FnOnce(&Gate)) -> bool {
        let is_over = self.signals.is_over.lock();
        match self.gate.upgrade() {
            Some(shared) if !*is_over => {
                change(&Gate { shared });
                true
            }
            _ => false,
        }
    }

    fn sleep(&self, duration: Duration) -> Slept {
        let start = Instant::now();
        loop {
            if *self.signals.is_over.lock() || self.gate.strong_count() == 0 {
                return Slept::Over;
            }
            // Acquire: see what changed. Who sets it unparks this thread afterwards, so that it doesn't sleep over it.
            if self.signals.is_changed.swap(false, Ordering::Acquire) {
                return Slept::Changed;
            }
            let left = duration.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Slept::Through;
            }
            thread::park_timeout(left.min(NAP));
        }
    }

    /// Sleeps until it is time to look.
    fn settle(&self, pace: Pace) -> Slept {
        let slept = self.sleep(pace.poll);
        let changed_at = Instant::now();
        let mut last = slept;
        while last == Slept::Changed && changed_at.elapsed() < pace.at_latest {
            last = self.sleep(pace.settled);
        }
        if last == Slept::Over { last } else { slept }
    }
}

struct WatchedFile {
    path: PathBuf,
    /// What the rules are from, or what was wrong with it.
    read: FileText,
    /// What else it said when it was last looked at: perhaps half of what is being written.
    seen: Option<FileText>,
    /// Whether to ask the system to tell of changes.
    is_told: bool,
    /// Those that are watched.
    directories: Vec<PathBuf>,
    /// `None` if the system gives none: then it is looked at now and then.
    watcher: Option<RecommendedWatcher>,
}

impl WatchedFile {
    /// Changes the rules if the file says something else than before, once it says so a second time. Whether to go on.
    fn look(&mut self, watched: &Watched) -> bool {
        let seen = self.seen.take();
        let read = read_file(&self.path);
        if read == self.read {
            return true;
        }
        if seen.as_ref() != Some(&read) {
            self.seen = Some(read);
            return true;
        }
        self.read = read;
        watched.change(|gate| drop(gate.reload_read(&self.read, &self.path)))
    }

    /// Watches the directories that the file is in now, before it is looked at. `anew` also if they seem to be those that are watched:
    /// one may have taken another's place.
    fn watch_directories(&mut self, watched: &Watched, anew: bool) {
        if anew {
            self.directories.clear();
        }
        // Again if a link was changed before the directory that it is in was watched.
        loop {
            let directories = directories(&self.path);
            if !self.is_told || directories == self.directories {
                return;
            }
            self.watcher = watcher(&directories, watched);
            self.directories = directories;
        }
    }
}

fn watcher(directories: &[PathBuf], watched: &Watched) -> Option<RecommendedWatcher> {
    let signals = Arc::clone(&watched.signals);
    let thread = thread::current();
    let tell = move |event: notify::Result<notify::Event>| {
        // To read the file is not to change it. An error may stand for changes that couldn't be told.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // Release: who acquires it sees what changed.
            signals.is_changed.store(true, Ordering::Release);
            thread.unpark();
        }
    };
    let mut watcher = notify::recommended_watcher(tell).ok()?;
    for directory in directories {
        // What can't be watched is looked at now and then.
        let _watched = watcher.watch(directory, RecursiveMode::NonRecursive);
    }
    Some(watcher)
}

/// In which a file can be put in another's place: the one that it is in, and those of all links on the way to it.
fn directories(path: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        for place in path.ancestors().filter(|place| *place == path || place.is_symlink()) {
            directories.extend(place.parent().and_then(|directory| directory.canonicalize().ok()));
        }
        let Ok(target) = path.read_link() else { break };
        path.pop();
        path.push(target);
    }
    directories.sort_unstable();
    directories.dedup();
    directories
}

#[cfg(all(test, not(loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{PACE, Pace, Watched, WatchedFile, jitter, read_file};
    use crate::gate::{Gate, GateEvent};
    use std::fs;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_change_that_the_file_system_does_not_tell_is_seen_all_the_same() {
        let path = std::env::temp_dir().join(format!("tidegate-poll-{}.toml", std::process::id()));
        let write = |limit| fs::write(&path, format!("[[rules]]\nname = 'all'\nconcurrency = {limit}\n")).unwrap();
        write(1);
        let gate = Gate::new([]).unwrap();
        let pace = Pace { poll: Duration::from_millis(10), ..PACE };
        let watch = gate.watch_file_at(&path, pace, false).unwrap();
        let start = Instant::now();
        for limit in 2..5 {
            write(limit);
            while gate.rules().rules[0].concurrency != Some(limit) {
                assert!(start.elapsed() < Duration::from_secs(20), "it never came to be");
                std::thread::yield_now();
            }
        }
        drop(watch);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_half_written_is_neither_taken_nor_told_to_be_wrong() {
        let path = std::env::temp_dir().join(format!("tidegate-half-{}.toml", std::process::id()));
        let whole = "[[rules]]\nname = 'all'\nconcurrency = 7\n";
        fs::write(&path, "").unwrap();
        let gate = Gate::new([]).unwrap();
        let events = gate.events();
        let watched = Watched { gate: Arc::downgrade(&gate.shared), signals: Arc::default() };
        let read = read_file(&path);
        let mut file = WatchedFile { path, read, seen: None, is_told: false, directories: Vec::new(), watcher: None };
        for half in [&whole[..20], whole] {
            fs::write(&file.path, half).unwrap();
            assert!(file.look(&watched));
            assert_eq!((gate.rules().rules.len(), events.next(Duration::ZERO)), (0, None));
        }
        assert!(file.look(&watched));
        assert_eq!(gate.rules().rules[0].concurrency, Some(7));
        assert!(matches!(events.next(Duration::ZERO), Some(GateEvent::Reloaded(_))));

        fs::remove_file(&file.path).unwrap();
        assert!(file.look(&watched) && events.next(Duration::ZERO).is_none());
        assert!(file.look(&watched));
        assert!(matches!(events.next(Duration::ZERO), Some(GateEvent::ReloadFailed(_))));
    }

    #[test]
    fn times_are_ten_percent_apart_by_chance() {
        let factors: Vec<f64> = (0..1_000).map(|_| jitter()).collect();
        assert!(factors.iter().all(|factor| (0.9..=1.1).contains(factor)));
        assert!(factors.iter().any(|factor| *factor < 0.93) && factors.iter().any(|factor| *factor > 1.07));
    }
}
