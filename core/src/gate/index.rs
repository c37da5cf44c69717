//! Which rules match a request, without asking those that cannot.
