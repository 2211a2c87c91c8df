//! Load: calls made by a schedule instead of one op after the other, over HTTP or straight to a
//! store.
//!
//! [`Schedule`] says who calls when, a [`Service`] makes the callers, [`Load`] puts both together
//! as what a row measures. [`HttpService`] asks a server, [`DirectService`] calls a store: the same
//! work both ways makes the cost of HTTP visible. [`web_app`] has the requests of the published load
//! scripts.
//!
//! Two times are kept of a call. The **service time** runs from the moment the call was made. In an
//! open schedule calls also have an **intended start**, whether or not somebody was free to make
//! them: a server that stalls delays the calls that were due meanwhile, and that wait belongs to its
//! answer.

mod caller;
mod direct;
mod figures;
mod generator;
mod http;
mod ramp;
mod schedule;
mod tally;
pub mod web_app;

pub use caller::{Caller, Service};
pub use direct::{Direct, DirectService};
pub use figures::{Latencies, LoadFigures};
pub use generator::Load;
pub use http::{Answer, Exchange, Exchanges, HttpConnection, HttpService};
pub use ramp::{Ramp, Stage};
pub use schedule::Schedule;
