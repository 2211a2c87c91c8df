//! What the targets of the time-series engine share.
#![allow(dead_code, reason = "each target uses a part")]

pub(crate) mod data;
pub(crate) mod engine;
pub(crate) mod json;
