//! Points as JSON: `{"metric","timestamp","value","tags"?}`, the timestamp a whole number of ms.
//!
//! | call | body | answer |
//! |---|---|---|
//! | [`write()`] | one point, or an array of points | 200 `{"written":n}`; 206 `{"written":n,"errors":[{"index","error"}]}` where some are not written; 400 `{"error"}` for a body that is no such JSON |
//! | [`query`] | `{"metric","start","end","tags"?}`, both times included | 200 `{"metric","start","end","points":[…],"count":n}`, ascending by time; 400 `{"error"}` |
//! | [`health`] | | 200 `{"status":"healthy"}` |
//! | [`counters`] | | 200 `{"points_written","queries_served","uptime_seconds"}` |
//!
//! A long answer is written in [`Pieces`], so that it is never in memory as a whole.
//!
//! An element of an array that is no point, by a missing field or a wrong type, is a point that is
//! not written; a single object that is none is a 400. Of the points that are not written, the first
//! [`MAX_ERRORS`](super::Ingested::MAX_ERRORS) are listed. Fields of other names are ignored; of two
//! with one name the last counts. JSON has no NaN and no infinities: answers show such values as
//! the texts `"NaN"`, `"+Inf"` and `"-Inf"`.

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

pub(crate) use text::push_string;
