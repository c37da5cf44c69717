//! Word of what a gate refuses and of its reloads, for one who listens. Nobody who decides waits for it.

use super::fault::Faults;
use super::refusal::Refusal;
use super::reload::Reloaded;
use crate::fork;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How many events wait to be taken; those that find no room are dropped, and counted.
const ROOM: usize = 1_024;

/// What a listener is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateEvent {
    /// A request was refused.
    Refused(Refusal),
    /// A rule in shadow would have refused a request.
    ShadowRefused(Refusal),
    /// The rules were changed.
    Reloaded(Reloaded),
    /// The rules were to be changed, and are as they were.
    ReloadFailed(Faults),
}

impl GateEvent {
    /// The name, the same in every language: `refused`, `shadow_refused`, `reloaded` or `reload_failed`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::ShadowRefused(_) => "shadow_refused",
            Self::Reloaded(_) => "reloaded",
            Self::ReloadFailed(_) => "reload_failed",
        }
    }
}

/// The events of a gate, in order; from [`Gate::events`](super::Gate::events).
#[derive(Debug)]
pub struct Events {
    receiver: Receiver<GateEvent>,
    dropped: Arc<AtomicU64>,
}

impl Events {
    /// The next event, for which it waits at most so long. `None` if none came.
    #[must_use]
    pub fn next(&self, timeout: Duration) -> Option<GateEvent> {
        self.receiver.recv_timeout(timeout).ok()
    }

    /// Whether the gate is gone or another listens: those events that are here by now are the last.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let is_over = Arc::strong_count(&self.dropped) == 1;
        // Acquire: whoever told has let go of its end by a release, and what it told is here.
        fence(Ordering::Acquire);
        is_over
    }

    /// How many events found no room, since nobody took those before.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Until the gate is gone, or another listens.
    pub(super) fn iter(&self) -> impl Iterator<Item = GateEvent> {
        self.receiver.iter()
    }
}

/// The end of whoever tells.
pub(super) struct Teller {
    // Goes before the sender: who finds the sender gone finds that it is over.
    dropped: Arc<AtomicU64>,
    sender: SyncSender<GateEvent>,
    process: u32,
}

impl Teller {
    pub(super) fn new() -> (Self, Events) {
        fork::watch();
        let (sender, receiver) = sync_channel(ROOM);
        let dropped = Arc::new(AtomicU64::new(0));
        (Self { dropped: Arc::clone(&dropped), sender, process: fork::count() }, Events { receiver, dropped })
    }

    /// Never waits. In the child of a fork nobody listens.
    pub(super) fn tell(&self, event: impl FnOnce() -> GateEvent) {
        if self.process == fork::count() && self.sender.try_send(event()).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
