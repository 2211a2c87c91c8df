//! InfluxDB's line protocol: `measurement,tag=value field=1,other=2i 1700000000000000000`.
//!
//! Each field is a point of the metric `measurement_field` with the line's tags as labels. Floats
//! and integers are stored as f64, booleans as 1 and 0. Strings, which many inputs of Telegraf send
//! beside their numbers, are left out and counted. A line without a
//! timestamp gets the time that the caller passes. Indexes in [`Ingested`] count lines from zero.
//! Several errors may have the same index, because each field can be wrong.
//!
//! Each field repeats the tags of its line, so the labels of a short body can be very long. If the
//! names and tags of a line's fields exceed [`MAX_LINE_LABELS`], the remaining fields are refused.
//! A large body is written in parts.

mod line;
mod value;

use super::points::Points;
use super::{Fault, Ingested};
use crate::{Db, LabelError, LabelsBuilder, LabelsRef, Sample};
use line::Line;

/// The unit of a body's timestamps. They are stored in ms, rounded down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// `ns`, the default.
    #[default]
    Nanoseconds,
    /// `us`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `m`
    Minutes,
    /// `h`
    Hours,
}

impl Precision {
    /// Parses the parameter `precision` in the spellings of both versions of the interface: `ns` or
    /// `n`, `us` or `u`, `ms`, `s`, `m`, `h`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ns" | "n" => Self::Nanoseconds,
            "us" | "u" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            "m" => Self::Minutes,
            "h" => Self::Hours,
            _ => return None,
        })
    }

    /// The timestamp in ms; `None` if it doesn't fit.
    fn milliseconds(self, timestamp: i64) -> Option<i64> {
        match self {
            Self::Nanoseconds => Some(timestamp.div_euclid(1_000_000)),
            Self::Microseconds => Some(timestamp.div_euclid(1_000)),
            Self::Milliseconds => Some(timestamp),
            Self::Seconds => timestamp.checked_mul(1_000),
            Self::Minutes => timestamp.checked_mul(60_000),
            Self::Hours => timestamp.checked_mul(3_600_000),
        }
    }
}

/// The maximum total length of the names and tags of all fields of a line: 16 MiB.
pub const MAX_LINE_LABELS: usize = 16 << 20;

/// Writes the points of a body. Lines that can't be read don't affect the others.
///
/// `now_ms` is the time of lines without a timestamp.
pub fn write(db: &Db, body: &[u8], precision: Precision, now_ms: i64) -> Ingested {
    let mut ingested = Ingested::default();
    let mut points = Points::default();
    let mut builder = Labels::default();
    let mut rest = body;
    let mut number = 0;
    while !rest.is_empty() {
        let (line, lines);
        (line, lines, rest) = line::split(rest);
        let read = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8");
        match read.and_then(Line::read) {
            Ok(Some(line)) => {
                let time = line
                    .timestamp
                    .map_or(Some(now_ms), |time| precision.milliseconds(time));
                builder.push(&mut points, number, &line, time);
            }
            Ok(None) => {}
            Err(reason) => points.refuse_at(number, Fault::form(reason)),
        }
        number += lines;
        // Writing a body in parts bounds the memory.
        if points.are_many() {
            // Each point carries its line's number, so the numbers stay correct in the next part.
            ingested.extend(std::mem::take(&mut points).write(db));
        }
    }
    ingested.extend(points.write(db));
    ingested
}

const TOO_LONG: &str = "the line has too many fields for the length of its tags";

/// Builds the labels of fields.
#[derive(Default)]
struct Labels {
    builder: LabelsBuilder,
    metric: String,
}

impl Labels {
    /// Adds the fields of a line.
    fn push(&mut self, points: &mut Points, number: usize, line: &Line<'_>, time: Option<i64>) {
        // The fields share the timestamp, so a wrong one is a single fault of the line.
        let Some(timestamp_ms) = time else {
            points.refuse_at(number, Fault::form("the timestamp is out of range"));
            return;
        };
        let mut label_bytes = 0;
        for field in line.fields() {
            let value = field.and_then(|(name, value)| Ok((name, value::number(value)?)));
            let (name, value) = match value {
                Ok((name, Some(value))) => (name, value),
                Ok((_, None)) => {
                    points.leave_out();
                    continue;
                }
                Err(reason) => {
                    points.refuse_at(number, Fault::form(reason));
                    continue;
                }
            };
            label_bytes += line.series_bytes() + name.len();
            if label_bytes > MAX_LINE_LABELS {
                points.refuse_at(number, Fault::form(TOO_LONG));
                return;
            }
            match self.build(line, &name) {
                Ok(labels) => points.push_at(
                    number,
                    labels,
                    Sample {
                        timestamp_ms,
                        value,
                    },
                ),
                Err(error) => points.refuse_at(number, error.into()),
            }
        }
    }

    fn build(&mut self, line: &Line<'_>, field: &str) -> Result<LabelsRef<'_>, LabelError> {
        self.metric.clear();
        self.metric.push_str(&line.measurement());
        self.metric.push('_');
        self.metric.push_str(field);
        self.builder.metric(&self.metric);
        for (name, value) in line.tags() {
            self.builder.label(&name, &value);
        }
        self.builder.build_ref()
    }
}
