//! Waiting on a thread, without the GIL, while signals are still noticed.

use crate::blocking::{SIGNALS_EVERY, holds_up_the_loop, in_event_loop, on_main_thread};
use pyo3::prelude::*;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use tidegate::NEVER_NS;
use tidegate::gate::{Entering, Progress};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until it is over. What a signal's handler raises, this does, and then nothing is taken. Where an event loop runs, there
/// is no wait.
#[cold]
pub fn wait(py: Python<'_>, mut entering: Box<Entering>, is_real_time: bool) -> PyResult<Progress> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    // Python runs handlers on the main thread alone; others need not come back for them.
    let in_loop = in_event_loop(py)?;
    let most = if on_main_thread(py)? { SIGNALS_EVERY } else { Duration::MAX };
    py.detach(move || {
        loop {
            let after_ns = match entering.poll(&waker) {
                Progress::Pending { wake_after_ns } => wake_after_ns,
                over => return Ok(over),
            };
            if in_loop {
                return Err(holds_up_the_loop());
            }
            // Who moves another clock wakes those who are due.
            let timer =
                if is_real_time && after_ns != NEVER_NS { Duration::from_nanos(after_ns) } else { Duration::MAX };
            match timer.min(most) {
                Duration::MAX => thread::park(),
                some => thread::park_timeout(some),
            }
            if most == SIGNALS_EVERY {
                Python::attach(|py| py.check_signals())?;
            }
        }
    })
}
