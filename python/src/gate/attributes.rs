//! What a request says: attributes, each a name and a value.

use crate::argument::type_error;
use crate::key::read_named;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The attributes of a request, whose texts are kept alive.
pub struct Attributes<'py>(SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 4]>);

/// What the core takes; borrowed from the attributes.
pub type Pairs<'a> = SmallVec<[(&'a str, Cow<'a, [u8]>); 4]>;

impl<'py> Attributes<'py> {
    #[inline]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Those of a mapping, and those given by name.
    #[inline]
    pub fn read(mapping: Option<&Bound<'py, PyAny>>, more: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut attributes = Self::new();
        if let Some(more) = more {
            attributes.add(more)?;
        }
        mapping.map_or(Ok(()), |mapping| attributes.extend(mapping))?;
        Ok(attributes)
    }

    /// Those of a mapping, or None.
    #[inline]
    pub fn extend(&mut self, mapping: &Bound<'py, PyAny>) -> PyResult<()> {
        match mapping.cast::<PyDict>() {
            Ok(dict) => self.add(dict),
            Err(_) if mapping.is_none() => Ok(()),
            Err(_) => self.add_other(mapping),
        }
    }

    #[inline]
    fn add(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<()> {
        for (name, value) in dict.iter() {
            self.push_named(name, value)?;
        }
        Ok(())
    }

    #[cold]
    fn add_other(&mut self, mapping: &Bound<'py, PyAny>) -> PyResult<()> {
        let Ok(mapping) = mapping.cast::<PyMapping>() else {
            return Err(type_error("attributes", mapping, "a mapping of names to str or bytes"));
        };
        for item in mapping.items()? {
            let (name, value) = item.extract()?;
            self.push_named(name, value)?;
        }
        Ok(())
    }

    #[inline]
    fn push_named(&mut self, name: Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> PyResult<()> {
        match name.cast_into::<PyString>() {
            Ok(name) => self.push(name, value),
            Err(error) => return Err(type_error("attributes", &error.into_inner(), "names that are str")),
        }
        Ok(())
    }

    #[inline]
    pub fn push(&mut self, name: Bound<'py, PyString>, value: Bound<'py, PyAny>) {
        if !value.is_none() {
            self.0.push((name, value));
        }
    }

    /// As bytes.
    #[inline]
    pub fn pairs(&self) -> PyResult<Pairs<'_>> {
        let mut pairs = Pairs::new();
        for (name, value) in &self.0 {
            let name = name.to_str()?;
            pairs.push((name, read_named(value, || name.to_owned())?));
        }
        Ok(pairs)
    }

    /// For whoever asks later.
    pub fn into_dict(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.0.into_iter().try_for_each(|(name, value)| dict.set_item(name, value)).map(|()| dict)
    }
}
