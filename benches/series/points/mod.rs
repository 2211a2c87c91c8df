//! Data, engines and request bodies that the targets of the time-series engine share.
#![allow(dead_code, reason = "the http program uses only a part of it")]

pub(crate) mod data;
pub(crate) mod engine;
pub(crate) mod json;
