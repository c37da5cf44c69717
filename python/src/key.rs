//! Keys, and the functions that make them.

use crate::argument::{Given, Whole, read_text, shown, type_error};
use crate::error::{config_error, from_core, no_panic};
use crate::refusal;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

const PREFIX: Whole = Whole { name: "prefix", least: 0, most: 128 };

/// A key that is kept while somebody waits for it.
#[derive(Clone)]
pub struct Key {
    bytes: Arc<[u8]>,
    /// As refusals name it.
    whose: Arc<str>,
}

impl Key {
    #[cold]
    pub fn read(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { bytes: read_key(value)?.as_ref().into(), whose: refusal::of_key(value).into() })
    }

    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub fn whose(&self) -> &str {
        &self.whose
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of a key, mostly borrowed from the object that holds them: those of a bytes, or the UTF-8 of a str.
#[inline]
pub fn read_key<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    read_named(value, || "key".to_owned())
}

/// A key among several, which is named by its place.
#[inline]
pub fn read_key_at<'a>(value: &'a Bound<'_, PyAny>, list: &str, index: usize) -> PyResult<Cow<'a, [u8]>> {
    read_named(value, || format!("{list}[{index}]"))
}

#[inline]
pub fn read_named<'a>(value: &'a Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<Cow<'a, [u8]>> {
    // Exact types first: to compare pointers is cheaper than to ask for what a type derives from.
    if let Ok(text) = value.cast_exact::<PyString>() {
        return text_key(text);
    }
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    other_key(value, name)
}

#[inline]
fn text_key<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    match text.to_str() {
        Ok(text) => Ok(text.as_bytes().into()),
        Err(_) => wtf8(text).map(Cow::Owned),
    }
}

#[cold]
fn other_key<'a>(value: &'a Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(text) = value.cast::<PyString>() {
        return text_key(text);
    }
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().into()),
        Err(_) => Err(type_error(&name(), value, "a str or bytes")),
    }
}

/// A text with surrogates, as WTF-8: by way of UTF-16, so that two halves side by side are the one character that they are
/// in the languages whose texts are UTF-16.
#[cold]
fn wtf8(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    const KEEP: &str = "surrogatepass";
    let py = text.py();
    // The methods of str and bytes themselves, whatever a subclass makes of them.
    let (str_type, bytes_type) = (py.get_type::<PyString>(), py.get_type::<PyBytes>());
    let halves = str_type.call_method1("encode", (text, "utf-16-le", KEEP))?;
    let joined = bytes_type.call_method1("decode", (halves, "utf-16-le", KEEP))?;
    str_type.call_method1("encode", (joined, "utf-8", KEEP))?.extract()
}

/// One key of several parts, each a str or bytes, such that other parts never make the same key.
///
/// key_of("a", "b/c") and key_of("a/b", "c") differ: each part is preceded by its length. The same in every language.
#[pyfunction]
#[pyo3(signature = (*parts), text_signature = "(*parts)")]
pub fn key_of<'py>(parts: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyBytes>> {
    no_panic(|| {
        let items: Vec<_> = parts.iter().collect();
        let read = |(index, part)| read_key_at(part, "parts", index);
        let read_parts = items.iter().enumerate().map(read).collect::<PyResult<Vec<_>>>()?;
        Ok(PyBytes::new(parts.py(), &tidegate::key_of(&read_parts)))
    })
}

/// The key of a network address that is written as text: its bytes, four or sixteen, with all bits behind the prefix zero.
///
/// prefix: the leading bits that count; where it is None, all 32 of IPv4 and 64 of IPv6, since whoever has one address of
/// a /64 has them all. IPv4 written as IPv6 ("::ffff:203.0.113.7") is the IPv4 address. The same in every language.
///
/// Raises ConfigError if the address is none, or the prefix is longer than it.
#[pyfunction]
#[pyo3(signature = (address, prefix = Given::LEFT_OUT), text_signature = "(address, prefix=None)")]
pub fn ip_key<'py>(address: &Bound<'py, PyAny>, prefix: Given<'_, 'py>) -> PyResult<Bound<'py, PyBytes>> {
    no_panic(|| {
        let text = read_text(address, "address")?;
        let parsed: IpAddr = text
            .parse()
            .map_err(|_| config_error("address", shown(address), "an IPv4 or IPv6 address, such as 203.0.113.7"))?;
        let prefix = prefix.optional_whole(&PREFIX)?.map(|bits| bits as u8);
        Ok(PyBytes::new(address.py(), &tidegate::ip_key(parsed, prefix).map_err(from_core)?))
    })
}
