//! The permits of `with limiter:` blocks.
//!
//! `__exit__` isn't told which `__enter__` it belongs to, and the blocks of one limiter overlap in any order: on threads, in
//! tasks, in generators that take turns on one thread. Neither a stack per limiter, nor per thread, nor per context tells
//! them apart. The frame does: a `with` statement enters and leaves in one frame, wherever that is resumed, and the blocks
//! within one frame are nested. So the block that ends is the last one that its frame began.
//!
//! Who calls `__enter__` and `__exit__` from two frames, as `ExitStack` does, gets the nearest block: one whose permit was
//! released already, else the last of this thread, else the last. Whichever it gets, permits held by blocks are never fewer
//! than blocks that didn't release theirs, and when all blocks have ended none is out.

use crate::permit::Permit;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The blocks that were entered and not yet left, in the order of entry. The lock is never held while Python runs.
#[derive(Default)]
pub struct Blocks(Mutex<Vec<Block>>);

struct Block {
    /// Keeps the frame, so that no later one can have its address.
    frame: Option<Py<PyAny>>,
    thread: usize,
    permit: Py<Permit>,
}

impl Blocks {
    /// `frame` is that of the statement.
    pub fn enter(&self, frame: Option<Bound<'_, PyAny>>, permit: Py<Permit>) {
        let block = Block { frame: frame.map(Bound::unbind), thread: this_thread(), permit };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }

    /// Takes the permit of the block that ends here; none if none was entered.
    pub fn leave(&self, py: Python<'_>) -> Option<Py<Permit>> {
        let (frame, thread) = (frame(py), this_thread());
        let same_frame = |block: &Block| match (&block.frame, &frame) {
            (Some(begun), Some(ending)) => begun.is(ending),
            _ => false,
        };
        let block = {
            let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let index = blocks.iter().rposition(same_frame).or_else(|| {
                let rank = |block: &Block| (block.permit.get().is_released(), block.thread == thread);
                // The last of those that fit best.
                blocks.iter().enumerate().max_by_key(|(_, block)| rank(block)).map(|(index, _)| index)
            })?;
            blocks.remove(index)
        };
        // The frame is let go here, after the lock: it may be the last to hold it, and what dies with it may run Python.
        Some(block.permit)
    }

    /// Shows the frames to the garbage collector: a generator that is suspended in a block may be garbage with its limiter.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody holds the lock while Python runs, and so while it collects.
        let Ok(blocks) = self.0.try_lock() else { return Ok(()) };
        blocks.iter().filter_map(|block| block.frame.as_ref()).try_for_each(|frame| visit.call(frame))
    }
}

/// Tells threads apart that are there at one time.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// The frame of the Python code that is running; none where only C code is.
pub fn frame(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: attached; the frame is borrowed from the running thread, and a reference of our own is taken at once.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }
}
