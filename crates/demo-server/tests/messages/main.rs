//! The messages interface over HTTP.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/rpc.rs"]
mod rpc;

mod calls;
mod import;
mod invalid;
mod postgres;
mod races;
mod subscribe;
