//! Traces that pass through a store.
//!
//! A record keeps the context of the span in which it was written, in the form of W3C Trace Context. The
//! work on the record then joins that trace, in another process or years later.

#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod on;

#[cfg(not(feature = "otel"))]
pub use off::{current, span};
#[cfg(feature = "otel")]
pub use on::{current, span};

/// The metadata key under which a record keeps its trace, and the name of the HTTP header.
pub const TRACEPARENT: &str = "traceparent";
