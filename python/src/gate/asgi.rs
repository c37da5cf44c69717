//! What a gate is told of a request that comes as an ASGI scope. It is read here: a dict of attributes for each request is longer in the
//! making than the decision.

use super::attributes::Pairs;
use crate::key::read_named;
use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

/// The path, the method, and the peer's address as `client`, of a scope of the type http.
pub struct Request<'py> {
    path: Bound<'py, PyAny>,
    method: Bound<'py, PyAny>,
    client: Option<Bound<'py, PyAny>>,
}

impl<'py> Request<'py> {
    pub fn read(scope: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = scope.py();
        let (path, method) = (scope.get_item(intern!(py, "path"))?, scope.get_item(intern!(py, "method"))?);
        Ok(Self { path, method, client: client(scope)? })
    }

    /// As bytes.
    pub fn pairs(&self) -> PyResult<Pairs<'_>> {
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
    let peer = match scope.get_item(intern!(py, "client")) {
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
            static CLIENT_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            CLIENT_OF.import(py, "tidegate._web", "client_of")?.call1((text,)).map(Some)
        }
        _ => Ok(Some(address)),
    }
}
