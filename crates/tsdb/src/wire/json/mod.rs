//! Points as JSON: `{"metric","timestamp","value","tags"?}`, the timestamp a whole number of ms.
//!
//! | call | body | answer |
//! |---|---|---|
//! | [`write()`] | one point, or an array of points | 200 `{"written":n}`; 206 `{"written":n,"errors":[{"index","error"}]}` if some are not written; 400 `{"error"}` for any other body |
//! | [`query`] | `{"metric","start","end","tags"?}`, both times included | 200 `{"metric","start","end","points":[…],"count":n}`, ascending by time; 400 `{"error"}` |
//! | [`health`] | | 200 `{"status":"healthy"}` |
//! | [`counters`] | | 200 `{"points_written","queries_served","uptime_seconds"}` |
//!
//! A long answer is written in [`Pieces`], so it is never in memory as a whole.
//!
//! An array element with a missing field or a wrong type is a point that is not written. If the
//! body is a single object with such a fault, the answer is a 400. The answer lists the first
//! [`MAX_ERRORS`](super::Ingested::MAX_ERRORS) points that are not written. Fields with other names
//! are ignored; the last of two fields with the same name counts. JSON has no NaN and no
//! infinities, so answers show them as the strings `"NaN"`, `"+Inf"` and `"-Inf"`.

mod answer;
mod decimal;
mod number;
mod pieces;
mod point;
mod query;
mod scan;
mod text;
mod write;

pub use answer::{Answer, Counters, counters, health};
pub use pieces::Pieces;
pub use query::{Query, query};
pub use write::{ingest, report, write};
