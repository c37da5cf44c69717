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
use crate::ready;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use std::cell::UnsafeCell;
use std::sync::Arc;
use tidegate::{ConcurrencyLimiter, RawPermit};

/// The blocks of a limiter.
#[derive(Default)]
pub struct Blocks(UnsafeCell<Entered>);

#[derive(Default)]
struct Entered {
    /// Those that were entered and not yet left, in the order of entry.
    blocks: Vec<Block>,
    /// What a block gave back and nobody else has: it serves the next one, which is spared making and freeing it.
    spare: Option<Held>,
}

// SAFETY: `Entered` is reached through `with` and `traverse` alone, which see to it that nobody else does meanwhile.
unsafe impl Sync for Blocks {}

struct Block {
    /// Keeps the frame, so that no later one can have its address.
    frame: Option<Py<PyAny>>,
    thread: usize,
    held: Held,
}

struct Held {
    permit: Py<Permit>,
    /// Gives the permit to `async with`; made for the first that it serves.
    ready: Option<Py<PyAny>>,
}

impl Held {
    /// Whether the permit may be lent again, since nobody can know of it.
    fn is_spare(&self, py: Python<'_>) -> bool {
        let references = self.ready.as_ref().map_or(Some(0), |ready| ready::references(ready.bind(py)));
        // SAFETY: attached, and the object is ours.
        let all = unsafe { ffi::Py_REFCNT(self.permit.as_ptr()) };
        self.permit.get().is_released() && references.is_some_and(|references| all == 1 + references)
    }
}

impl Blocks {
    /// Begins a block of a statement in `frame`, by what was taken for it; gives the permit.
    pub fn enter<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        frame: Option<Bound<'py, PyAny>>,
        limiter: &Arc<ConcurrencyLimiter>,
        raw: RawPermit,
    ) -> PyResult<Bound<'py, Permit>> {
        let held = self.lend(owner, limiter, raw)?;
        let permit = held.permit.bind(owner.py()).clone();
        self.begin(owner, frame, held);
        Ok(permit)
    }

    /// [`enter`](Self::enter) that gives what `async with` awaits.
    pub fn enter_awaited<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        frame: Option<Bound<'py, PyAny>>,
        limiter: &Arc<ConcurrencyLimiter>,
        raw: RawPermit,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = owner.py();
        let mut held = self.lend(owner, limiter, raw)?;
        let ready = match held.ready.take() {
            Some(ready) => ready.into_bound(py),
            None => ready::of(py, held.permit.clone_ref(py).into_any())?,
        };
        held.ready = Some(ready.clone().unbind());
        self.begin(owner, frame, held);
        Ok(ready)
    }

    /// Begins a block that holds a permit which was had otherwise.
    pub fn enter_with(&self, owner: &Bound<'_, PyAny>, frame: Option<Bound<'_, PyAny>>, permit: Py<Permit>) {
        self.begin(owner, frame, Held { permit, ready: None });
    }

    fn lend(&self, owner: &Bound<'_, PyAny>, limiter: &Arc<ConcurrencyLimiter>, raw: RawPermit) -> PyResult<Held> {
        match self.with(owner, |entered| entered.spare.take()) {
            Some(spare) => {
                spare.permit.get().lend_again(raw);
                Ok(spare)
            }
            None => Ok(Held { permit: Py::new(owner.py(), Permit::new(limiter, raw))?, ready: None }),
        }
    }

    fn begin(&self, owner: &Bound<'_, PyAny>, frame: Option<Bound<'_, PyAny>>, held: Held) {
        let block = Block { frame: frame.map(Bound::unbind), thread: this_thread(), held };
        self.with(owner, |entered| entered.blocks.push(block));
    }

    /// Ends the block that ends here, and gives its permit back if that wasn't done; `false` if none was entered.
    pub fn leave(&self, owner: &Bound<'_, PyAny>, ok: bool) -> PyResult<bool> {
        let py = owner.py();
        let Some(held) = self.take(owner) else { return Ok(false) };
        held.permit.get().release_if_held(ok)?;
        if held.is_spare(py) {
            let spare = self.with(owner, |entered| entered.spare.replace(held));
            drop(spare);
        } else {
            held.permit.drop_ref(py);
        }
        Ok(true)
    }

    /// Takes the permit of the block that ends here.
    fn take(&self, owner: &Bound<'_, PyAny>) -> Option<Held> {
        let frame = frame(owner.py());
        let same_frame = |block: &Block| match (&block.frame, &frame) {
            (Some(begun), Some(ending)) => begun.is(ending),
            _ => false,
        };
        let block = self.with(owner, |Entered { blocks, .. }| {
            // Most often there is no other.
            if blocks.last().is_some_and(same_frame) {
                return blocks.pop();
            }
            let index = blocks.iter().rposition(same_frame).or_else(|| {
                let thread = this_thread();
                let rank = |block: &Block| (block.held.permit.get().is_released(), block.thread == thread);
                // The last of those that fit best.
                blocks.iter().enumerate().max_by_key(|(_, block)| rank(block)).map(|(index, _)| index)
            })?;
            Some(blocks.remove(index))
        })?;
        // The frame is let go here and not within: it may be the last to hold it, and what dies with it may run Python.
        Some(block.held)
    }

    /// `act` must not run Python, not even by letting go of an object.
    fn with<T>(&self, owner: &Bound<'_, PyAny>, act: impl FnOnce(&mut Entered) -> T) -> T {
        // SAFETY: with the GIL nobody else runs, as `act` doesn't let it go; without one the section is the owner's alone.
        with_critical_section(owner, || act(unsafe { &mut *self.0.get() }))
    }

    /// Shows the frames to the garbage collector: a generator that is suspended in a block may be garbage with its limiter.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // SAFETY: whoever is within `with` runs no Python, and so no garbage collection.
        let entered = unsafe { &*self.0.get() };
        entered.blocks.iter().filter_map(|block| block.frame.as_ref()).try_for_each(|frame| visit.call(frame))
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
