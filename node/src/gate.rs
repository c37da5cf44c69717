//! Gates: requests that enter, wait and leave.
//!
//! What a request came to is one number: 0 and above an entry, twice its place and 1 if a rule applies; else one of these. To make
//! an object for each entry would cost more than to decide.

use crate::function::{Answer, Call, Fault, Method};
use crate::handle::Handle;
use crate::key::KeyBuffer;
use crate::wait::{Inbox, Told, Waits};
use napi::bindgen_prelude::Float64Array;
use napi_derive::napi;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;
use tidegate::gate::{
    Attributes, Begun, Entering, Entry, GateEvent, Passed, Passing, Progress, RateLimitHeaders, RateLimitItem, Refusal,
};
use tidegate::{Gate, ManualClock, NEVER_NS, Status};

/// The rules were changed: the names of the attributes are to be fetched.
const STALE: f64 = -1.0;
/// `gateRefusal` tells why.
const REFUSED: f64 = -2.0;
/// It waits: minus this and so many ms until it is to be polled.
const WAITS: f64 = -3.0;
/// Attributes that are arguments of their own; more of them are in an array.
const OWN_ARGUMENTS: usize = 4;
/// The place of the first of them.
const FIRST: usize = 5;

/// A gate as one environment has it.
pub struct Keeper {
    pub(crate) gate: Gate,
    /// What JavaScript knows to be asked for.
    asked: RefCell<Attributes>,
    entries: RefCell<Entries>,
    waits: RefCell<HashMap<u64, Waiting>>,
    refusal: Cell<Option<Box<Refusal>>>,
    /// Where JavaScript looks for what headers are to say: the place of an item, and its `r` and `t`.
    left: RefCell<Float64Array>,
    pub(crate) events: Arc<Mutex<VecDeque<GateEvent>>>,
}

struct Waiting {
    entering: Box<Entering>,
    waker: Waker,
}

/// Those who are inside, by place.
#[derive(Default)]
struct Entries {
    places: Vec<Option<Box<Entry>>>,
    free: Vec<usize>,
}

impl Entries {
    #[inline]
    fn put(&mut self, entry: Box<Entry>) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.places[place] = Some(entry);
                place
            }
            None => {
                self.places.push(Some(entry));
                self.places.len() - 1
            }
        }
    }

    #[inline]
    fn take(&mut self, place: usize) -> Option<Box<Entry>> {
        let entry = self.places.get_mut(place)?.take()?;
        self.free.push(place);
        Some(entry)
    }
}

/// Has JavaScript poll a request that waits.
struct Bell {
    inbox: Arc<Inbox>,
    id: u64,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.inbox.put(Told { id: self.id, status: Status::PollAgain, grant: [0; 3] });
    }
}

impl Keeper {
    #[inline]
    fn entered(&self, entry: Box<Entry>) -> f64 {
        let applies = u8::from(entry.applies());
        let place = self.entries.borrow_mut().put(entry);
        2.0 * place as f64 + f64::from(applies)
    }

    fn refused(&self, refusal: Box<Refusal>) -> f64 {
        self.refusal.set(Some(refusal));
        REFUSED
    }

    fn leave(&self, figures: [f64; 3]) {
        let mut left = self.left.borrow_mut();
        // SAFETY: it is of the thread that this runs on, and JavaScript doesn't run meanwhile.
        if let Some(left) = unsafe { left.as_mut() }.first_chunk_mut() {
            *left = figures;
        }
    }

    /// None if the rules were changed.
    fn begun(&self, call: &Call, begun: Option<Begun>) -> Result<f64, Fault> {
        Ok(match begun {
            None => STALE,
            Some(Begun::Entered(entry)) => self.entered(entry),
            Some(Begun::Refused(refusal)) => self.refused(refusal),
            Some(Begun::Waits(entering)) => self.wait(call, entering)?,
        })
    }

    /// Of one who waits, by its `waits` and `id`.
    fn wait(&self, call: &Call, entering: Box<Entering>) -> Result<f64, Fault> {
        let id = call.whole(4)?;
        let inbox = Arc::clone(&call.handle::<Rc<Waits>>(3)?.inbox);
        let waker = Waker::from(Arc::new(Bell { inbox, id }));
        Ok(self.poll(id, Waiting { entering, waker }))
    }

    /// Goes on with a request, which is in no table meanwhile: limiters call wakers.
    fn poll(&self, id: u64, mut waiting: Waiting) -> f64 {
        match waiting.entering.poll(&waiting.waker) {
            Progress::Entered(entry) => self.entered(entry),
            Progress::Refused(refusal) => self.refused(refusal),
            Progress::Pending { wake_after_ns } => {
                self.waits.borrow_mut().insert(id, waiting);
                let ms = if wake_after_ns == NEVER_NS { f64::INFINITY } else { wake_after_ns as f64 / 1e6 };
                WAITS - ms
            }
        }
    }

    /// What is told of somebody who is inside.
    pub(crate) fn of_entry<T>(&self, place: u64, tell: impl FnOnce(&Entry) -> T) -> Option<T> {
        self.entries.borrow().places.get(place as usize)?.as_deref().map(tell)
    }

    pub(crate) fn take_refusal(&self) -> Option<Box<Refusal>> {
        self.refusal.take()
    }

    /// The names of the attributes that the rules ask for, as [`Enter`] takes them from now on.
    fn names(&self) -> Vec<String> {
        let asked = self.gate.attributes();
        let names = asked.names().to_vec();
        self.asked.replace(asked);
        names
    }
}

/// A gate without rules, on the machine's clock or a manual one. What headers are to say it leaves in `left`, which has room for three
/// numbers.
#[napi(catch_unwind)]
pub fn gate(manual: Option<&Handle<ManualClock>>, left: Float64Array) -> napi::Result<Handle<Keeper>> {
    let made = match manual {
        Some(manual) => Gate::with_clock([], &**manual),
        None => Gate::new([]),
    };
    let gate = made.map_err(|faults| napi::Error::from_reason(faults.to_string()))?;
    let asked = RefCell::new(gate.attributes());
    let (entries, waits) = (RefCell::default(), RefCell::default());
    let (refusal, left) = (Cell::default(), left.into());
    Ok(Handle::new(Keeper { gate, asked, entries, waits, refusal, left, events: Arc::default() }))
}

/// The names of the attributes whose values are to be given, in this order.
#[napi(catch_unwind)]
pub fn gate_names(gate: &Handle<Keeper>) -> Vec<String> {
    gate.names()
}

#[napi(object, object_from_js = false)]
pub struct HeaderItem {
    pub policy: String,
    pub name: String,
}

/// What headers say of each quota, whatever is left of it, of the rules that `gateNames` was last asked about.
#[napi(catch_unwind)]
pub fn gate_items(gate: &Handle<Keeper>) -> Vec<HeaderItem> {
    let item = |RateLimitItem { policy, name, .. }| HeaderItem { policy, name };
    gate.asked.borrow().rate_limit_items().into_iter().map(item).collect()
}

/// (gate, cost, timeoutNs, waits, id, value...) -> what the request came to. A negative timeout is none. With more than four attributes
/// there is an array of values in place of the first.
pub(crate) struct Enter;

impl Method for Enter {
    type On = Keeper;
    const NAME: &'static CStr = c"gateEnter";
    const ARGUMENTS: usize = FIRST + OWN_ARGUMENTS;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        let asked = keeper.asked.borrow();
        with_values(&asked, call, |values| {
            let begun = begin(keeper, &asked, call, values, call.whole(1)?)?;
            call.return_number(keeper.begun(call, begun)?)
        })
    }
}

/// (gate, 1, timeoutNs, waits, id, value...) -> what the request of cost 1 came to of who would not use an entry but to leave: if it
/// would hold no permits there is none. Then what is returned is the gate, and in the gate's `left` are the place of an item of `gateItems`
/// and what `r` and `t` say; or, of several rules, the text of [`EntryHeaders`]; or undefined if there is nothing to be said.
pub(crate) struct Pass;

impl Method for Pass {
    type On = Keeper;
    const NAME: &'static CStr = c"gatePass";
    const ARGUMENTS: usize = FIRST + OWN_ARGUMENTS;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        let asked = keeper.asked.borrow();
        with_values(&asked, call, |values| match keeper.gate.pass(&asked, values, || timeout(call).ok().flatten()) {
            Passing::Passed(Passed { item, remaining, reset_after_s, .. }) => {
                keeper.leave([item as f64, remaining as f64, reset_after_s as f64]);
                call.return_admitted(true)
            }
            Passing::Unmatched => Call::return_undefined(),
            Passing::Refused(refusal) => call.return_number(keeper.refused(refusal)),
            Passing::Stale => call.return_number(STALE),
            Passing::Unasked => pass_by_entry(keeper, &asked, call, values),
        })
    }
}

#[inline(never)]
fn pass_by_entry(keeper: &Keeper, asked: &Attributes, call: &Call, values: &[Option<&[u8]>]) -> Answer {
    match begin(keeper, asked, call, values, 1)? {
        Some(Begun::Entered(entry)) if !entry.holds_permits() => headers_of(entry.headers(), call),
        begun => call.return_number(keeper.begun(call, begun)?),
    }
}

/// Calls `ask` with the values of the attributes.
#[inline(always)]
fn with_values(asked: &Attributes, call: &Call, ask: impl FnOnce(&[Option<&[u8]>]) -> Answer) -> Answer {
    match asked.names().len() {
        0 => ask(&[]),
        // To make room for each takes time.
        1 => with_few::<1>(1, call, ask),
        count @ 2..=OWN_ARGUMENTS => with_few::<OWN_ARGUMENTS>(count, call, ask),
        count => with_many(count, call, ask),
    }
}

/// Of arguments of their own, at most `N`.
#[inline(always)]
fn with_few<const N: usize>(count: usize, call: &Call, ask: impl FnOnce(&[Option<&[u8]>]) -> Answer) -> Answer {
    let mut buffers: [KeyBuffer; N] = std::array::from_fn(|_| KeyBuffer::new());
    let mut values = [None; N];
    for (index, (buffer, value)) in buffers.iter_mut().zip(&mut values).enumerate().take(count) {
        *value = call.bytes_or_none(call.argument(FIRST + index), buffer)?;
    }
    ask(&values[..count])
}

#[inline(never)]
fn with_many(count: usize, call: &Call, ask: impl FnOnce(&[Option<&[u8]>]) -> Answer) -> Answer {
    let mut buffers: Vec<KeyBuffer> = (0..count).map(|_| KeyBuffer::new()).collect();
    let mut values = Vec::with_capacity(count);
    for (index, buffer) in buffers.iter_mut().enumerate() {
        values.push(call.bytes_or_none(call.element(FIRST, index as u32)?, buffer)?);
    }
    ask(&values)
}

fn begin(
    keeper: &Keeper,
    asked: &Attributes,
    call: &Call,
    values: &[Option<&[u8]>],
    cost: u64,
) -> Result<Option<Begun>, Fault> {
    keeper.gate.begin_by_place(asked, values, cost, timeout(call)?).map_err(|_| Fault::Argument)
}

fn timeout(call: &Call) -> Result<Option<Duration>, Fault> {
    let timeout_ns = call.number(2)?;
    Ok((timeout_ns >= 0.0).then(|| Duration::from_nanos(timeout_ns as u64)))
}

/// (gate, id) -> what the request came to that waits
pub(crate) struct Poll;

impl Method for Poll {
    type On = Keeper;
    const NAME: &'static CStr = c"gatePoll";
    const ARGUMENTS: usize = 2;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        let id = call.whole(1)?;
        let waiting = keeper.waits.borrow_mut().remove(&id).ok_or(Fault::Argument)?;
        call.return_number(keeper.poll(id, waiting))
    }
}

/// (gate, id): the request waits no more
pub(crate) struct Cancel;

impl Method for Cancel {
    type On = Keeper;
    const NAME: &'static CStr = c"gateCancel";
    const ARGUMENTS: usize = 2;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        let waiting = keeper.waits.borrow_mut().remove(&call.whole(1)?);
        drop(waiting);
        Call::return_undefined()
    }
}

/// (gate, place, ok): somebody leaves
pub(crate) struct Release;

impl Method for Release {
    type On = Keeper;
    const NAME: &'static CStr = c"gateRelease";
    const ARGUMENTS: usize = 3;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        let (place, ok) = (call.whole(1)?, call.boolean(2)?);
        let mut entry = keeper.entries.borrow_mut().take(place as usize).ok_or(Fault::Argument)?;
        entry.set_ok(ok);
        Call::return_undefined()
    }
}

/// (gate, place) -> the headers RateLimit-Policy and RateLimit with a line break between them; undefined if no quota was asked, or
/// nobody is there
pub(crate) struct EntryHeaders;

impl Method for EntryHeaders {
    type On = Keeper;
    const NAME: &'static CStr = c"gateEntryHeaders";
    const ARGUMENTS: usize = 2;

    fn call(keeper: &Keeper, call: &Call) -> Answer {
        match keeper.of_entry(call.whole(1)?, Entry::headers) {
            Some(headers) => headers_of(headers, call),
            None => Call::return_undefined(),
        }
    }
}

fn headers_of(headers: RateLimitHeaders, call: &Call) -> Answer {
    let RateLimitHeaders { policy: mut text, limit, .. } = headers;
    if text.is_empty() {
        return Call::return_undefined();
    }
    text.push('\n');
    text.push_str(&limit);
    call.return_ascii(&text)
}
