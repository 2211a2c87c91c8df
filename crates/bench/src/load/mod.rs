//! Loads: calls over HTTP or straight to a store, at the times that a schedule sets. An op of an
//! ordinary row has no such time: it begins when the previous op has ended.
//!
//! A [`Schedule`] sets the times of the calls, a [`Service`] makes the callers, and a [`Load`]
//! combines both into a row. [`HttpService`] sends requests to a server, [`DirectService`] calls a
//! store. Doing the same work both ways shows the cost of HTTP.
//!
//! The **service time** of a call counts from the moment it is made. In an open schedule a call
//! also has an **intended start**, at which it is due even if no caller is free. A server that
//! stalls delays all calls that fall due during the stall. Counted from the intended start, the
//! latency contains this delay.
//!
//! Loads whose figures are compared take turns ([`Target::take_turns`](crate::Target::take_turns)), as a row and
//! its floors do.
//!
//! A load counts every call that was due. A call that failed, or that no caller was free to make,
//! is a failed call on the page. The tests in `tests/it/load.rs` check this.

mod caller;
mod direct;
mod figures;
mod generator;
mod http;
mod ramp;
mod schedule;
mod tally;

pub use caller::{Caller, DatabaseWork, Service};
pub use direct::{Direct, DirectService};
pub use figures::{CallCost, Latencies, LoadFigures};
pub use generator::Load;
pub(crate) use generator::Running;
pub use http::{Answer, Content, Exchange, Exchanges, HttpConnection, HttpService};
pub use ramp::{Ramp, Stage};
pub use schedule::Schedule;
