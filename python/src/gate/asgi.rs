//! Requests that come as ASGI scopes. They are read here: a dict of attributes for each is longer in the making than the decision.

use super::entry::Entry;
use super::headers::Headers;
use super::refusal::Refusal;
use super::{Gate, from_core};
use crate::error::no_panic;
use crate::key::read_named;
use crate::late::{Late, Name};
use pyo3::exceptions::PyKeyError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate::gate::{Attributes, Passed, Passing, RateLimitItem};

/// The way into a gate for requests over ASGI, whose peers are the clients.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct AsgiDoor {
    gate: Py<Gate>,
    make_turn: Py<PyAny>,
    timeout: Option<Duration>,
    legacy_headers: bool,
    /// Never locked while Python may run: a child of a fork would wait for a thread that it doesn't have.
    known: Mutex<Arc<Known>>,
}

impl AsgiDoor {
    pub fn new(
        gate: &Bound<'_, Gate>,
        make_turn: &Bound<'_, PyAny>,
        timeout: Option<Duration>,
        legacy_headers: bool,
    ) -> PyResult<Self> {
        let known = Mutex::new(Arc::new(Known::new(gate)?));
        Ok(Self { gate: gate.clone().unbind(), make_turn: make_turn.clone().unbind(), timeout, legacy_headers, known })
    }

    fn known(&self) -> MutexGuard<'_, Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn renew(&self, py: Python<'_>) -> PyResult<()> {
        let known = Arc::new(Known::new(self.gate.bind(py))?);
        // Dropped when nothing is locked any more.
        let _before = std::mem::replace(&mut *self.known(), known);
        Ok(())
    }

    /// None if the rules were changed since.
    #[inline]
    fn ask_by<'py>(&self, known: &Known, scope: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = scope.py();
        let gate = self.gate.get();
        let given = known.read(scope)?;
        let texts = texts(&given)?;
        let values = known.values(&texts);
        if !self.legacy_headers {
            match gate.gate.pass(&known.attributes, &values, || self.timeout) {
                Passing::Passed(passed) => return known.headers(py, passed).map(Some),
                Passing::Unmatched => return Ok(Some(PyList::empty(py).into_any())),
                Passing::Refused(refusal) => return Ok(Some(Bound::new(py, Refusal::from(refusal))?.into_any())),
                Passing::Stale => return Ok(None),
                Passing::Unasked => {}
            }
        }
        let begun = gate.gate.begin_by_place(&known.attributes, &values, 1, self.timeout).map_err(from_core)?;
        let Some(begun) = begun else { return Ok(None) };
        let told = gate.begun(self.make_turn.bind(py), begun, |entry| {
            if entry.holds_permits() {
                return Ok(Bound::new(py, Entry::from(entry))?.into_any());
            }
            Ok(Headers::of_entry(&entry, self.legacy_headers).to_list(py)?.into_any())
        });
        told.map(Some)
    }
}

#[pymethods]
impl AsgiDoor {
    /// What Gate._begin() does, of an HTTP request by its scope. Who is admitted and holds no permits has nothing to release: in place of
    /// an Entry there are only its _raw_headers().
    fn ask<'py>(&self, scope: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            loop {
                let known = Arc::clone(&self.known());
                if let Some(told) = self.ask_by(&known, scope)? {
                    return Ok(told);
                }
                self.renew(scope.py())?;
            }
        })
    }

    // What is known is bytes, which lead nowhere.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.gate)?;
        visit.call(&self.make_turn)
    }
}

/// The attributes that a scope of the type http has: the path, the method, and the peer's address.
const NAMES: [&str; 3] = ["path", "method", "client"];

/// What the rules of one time ask for, and what the headers of responses say by them.
struct Known {
    attributes: Attributes,
    /// Which of the attributes these names are; none of one that no rule asks for.
    places: [Option<usize>; NAMES.len()],
    items: Vec<Item>,
    limit_name: Py<PyBytes>,
}

/// What the headers say of one quota.
struct Item {
    /// RateLimit-Policy: the name and the value.
    policy: Py<PyTuple>,
    /// RateLimit, as far as the figures.
    name: String,
}

impl Known {
    fn new(gate: &Bound<'_, Gate>) -> PyResult<Self> {
        let py = gate.py();
        let attributes = gate.get().gate.attributes();
        let places = NAMES.map(|name| attributes.names().iter().position(|asked| asked == name));
        let policy_name = PyBytes::new(py, b"ratelimit-policy");
        let item = |RateLimitItem { policy, name, .. }| {
            let policy = PyTuple::new(py, [&policy_name, &PyBytes::new(py, policy.as_bytes())])?.unbind();
            Ok(Item { policy, name })
        };
        let items = attributes.rate_limit_items().into_iter().map(item).collect::<PyResult<_>>()?;
        Ok(Self { attributes, places, items, limit_name: PyBytes::new(py, b"ratelimit").unbind() })
    }

    /// What a scope has of what the rules ask for.
    #[inline]
    fn read<'py>(&self, scope: &Bound<'py, PyAny>) -> PyResult<[Option<Bound<'py, PyAny>>; NAMES.len()]> {
        let py = scope.py();
        static PATH: Name = Name::new("path");
        static METHOD: Name = Name::new("method");
        let [path, method, client] = self.places.map(|place| place.is_some());
        Ok([
            if path { Some(scope.get_item(PATH.get(py)?)?) } else { None },
            if method { Some(scope.get_item(METHOD.get(py)?)?) } else { None },
            if client { client_of(scope)? } else { None },
        ])
    }

    /// Those as bytes, each at the place of its attribute.
    #[inline]
    fn values<'a>(&self, texts: &'a [Option<Cow<'_, [u8]>>; NAMES.len()]) -> SmallVec<[Option<&'a [u8]>; 4]> {
        let mut values = SmallVec::from_elem(None, self.attributes.names().len());
        for (place, text) in self.places.iter().zip(texts) {
            if let Some(place) = place {
                values[*place] = text.as_deref();
            }
        }
        values
    }

    /// Of a response to who passed.
    #[inline]
    fn headers<'py>(&self, py: Python<'py>, passed: Passed) -> PyResult<Bound<'py, PyAny>> {
        let Passed { item, remaining, reset_after_s, .. } = passed;
        let Item { policy, name } = &self.items[item];
        let mut figures = Figures::new();
        figures.put_before(reset_after_s, b";t=");
        figures.put_before(remaining, b";r=");
        let figures = figures.as_bytes();
        let limit = PyBytes::new_with(py, name.len() + figures.len(), |limit| {
            let (before, after) = limit.split_at_mut(name.len());
            before.copy_from_slice(name.as_bytes());
            after.copy_from_slice(figures);
            Ok(())
        })?;
        let limit = PyTuple::new(py, [self.limit_name.bind(py), &limit])?;
        Ok(PyList::new(py, [policy.bind(py), &limit])?.into_any())
    }
}

/// Two numbers, each behind what it is, written from the end on: `write!` takes several times as long.
struct Figures {
    text: [u8; Self::ROOM],
    first: usize,
}

impl Figures {
    /// A number has 20 digits at most.
    const ROOM: usize = 2 * (20 + b";r=".len());

    #[inline]
    fn new() -> Self {
        Self { text: [0; Self::ROOM], first: Self::ROOM }
    }

    #[inline]
    fn put_before(&mut self, mut number: u64, what: &[u8; 3]) {
        loop {
            self.first -= 1;
            self.text[self.first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.first -= what.len();
        self.text[self.first..][..what.len()].copy_from_slice(what);
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.text[self.first..]
    }
}

/// As bytes.
#[inline]
fn texts<'a>(
    [path, method, client]: &'a [Option<Bound<'_, PyAny>>; NAMES.len()],
) -> PyResult<[Option<Cow<'a, [u8]>>; NAMES.len()]> {
    let [path_name, method_name, client_name] = NAMES;
    let text = |value: &'a Option<Bound<'_, PyAny>>, name: &str| {
        value.as_ref().map(|value| read_named(value, || name.to_owned())).transpose()
    };
    Ok([text(path, path_name)?, text(method, method_name)?, text(client, client_name)?])
}

/// Whose budget it is that the peer spends; none of a peer that isn't known, or has no address.
fn client_of<'py>(scope: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = scope.py();
    static CLIENT: Name = Name::new("client");
    let peer = match scope.get_item(CLIENT.get(py)?) {
        Ok(peer) => peer,
        Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    let address = match peer.cast_exact::<PyTuple>() {
        Ok(peer) if peer.is_empty() => return Ok(None),
        Ok(peer) => peer.get_item(0)?,
        Err(_) if !peer.is_truthy()? => return Ok(None),
        Err(_) => peer.get_item(0)?,
    };
    if address.is_none() {
        return Ok(None);
    }
    match address.cast::<PyString>() {
        // All addresses of an IPv6 network are one client.
        Ok(text) if text.to_str().is_ok_and(|text| text.contains(':')) => {
            static CLIENT_OF: Late = Late::new("tidegate._web", "client_of");
            CLIENT_OF.get(py)?.call1((text,)).map(Some)
        }
        _ => Ok(Some(address)),
    }
}
