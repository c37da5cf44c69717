//! Requests that come as ASGI scopes. They are read here: a dict of attributes for each is longer in the making than the decision.

use super::attributes::Pairs;
use super::entry::Entry;
use super::headers::Headers;
use super::{Gate, from_core};
use crate::error::no_panic;
use crate::key::read_named;
use crate::late::{Late, Name};
use pyo3::exceptions::PyKeyError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::time::Duration;

/// The way into a gate for requests over ASGI, whose peers are the clients.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct AsgiDoor {
    gate: Py<Gate>,
    make_turn: Py<PyAny>,
    timeout: Option<Duration>,
    legacy_headers: bool,
}

impl AsgiDoor {
    pub fn new(gate: Py<Gate>, make_turn: Py<PyAny>, timeout: Option<Duration>, legacy_headers: bool) -> Self {
        Self { gate, make_turn, timeout, legacy_headers }
    }
}

#[pymethods]
impl AsgiDoor {
    /// What Gate._begin() does, of an HTTP request by its scope. Who is admitted and holds no permits has nothing to release: in place of
    /// an Entry there are only its _raw_headers().
    fn ask<'py>(&self, scope: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let py = scope.py();
            let gate = self.gate.get();
            let request = Request::read(scope)?;
            let begun = gate.gate.begin(&request.pairs()?, 1, self.timeout).map_err(from_core)?;
            gate.begun(self.make_turn.bind(py), begun, |entry| {
                if entry.holds_permits() {
                    return Ok(Bound::new(py, Entry::from(entry))?.into_any());
                }
                Ok(Headers::of_entry(&entry, self.legacy_headers).to_list(py)?.into_any())
            })
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.gate)?;
        visit.call(&self.make_turn)
    }
}

/// The path, the method, and the peer's address as `client`, of a scope of the type http.
struct Request<'py> {
    path: Bound<'py, PyAny>,
    method: Bound<'py, PyAny>,
    client: Option<Bound<'py, PyAny>>,
}

impl<'py> Request<'py> {
    fn read(scope: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = scope.py();
        static PATH: Name = Name::new("path");
        static METHOD: Name = Name::new("method");
        let (path, method) = (scope.get_item(PATH.get(py)?)?, scope.get_item(METHOD.get(py)?)?);
        Ok(Self { path, method, client: client(scope)? })
    }

    /// As bytes.
    fn pairs(&self) -> PyResult<Pairs<'_>> {
        let mut pairs = Pairs::new();
        for (name, value) in
            [("path", Some(&self.path)), ("method", Some(&self.method)), ("client", self.client.as_ref())]
        {
            if let Some(value) = value {
                pairs.push((name, read_named(value, || name.to_owned())?));
            }
        }
        Ok(pairs)
    }
}

/// Whose budget it is that the peer spends; none of a peer that isn't known, or has no address.
fn client<'py>(scope: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
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
