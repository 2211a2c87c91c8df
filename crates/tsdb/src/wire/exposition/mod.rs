//! Prometheus' text format: `# HELP`, `# TYPE`, and lines of `name{label="value"} 1.5 1700000000000`.
//!
//! [`write()`] stores the samples of a text, including the quoted names of version 1.0.0 of the
//! format, and [`Exposition`] produces a text. A line without a timestamp gets the time that the
//! caller passes. Indexes in [`Ingested`] count lines from zero.

mod escaping;
mod family;
mod line;
mod out;

use super::points::Points;
use super::{Fault, Ingested};
use crate::{Db, LabelsBuilder, Metadata, Sample};
use line::Line;

pub use escaping::{Escaping, unescaped};
pub use out::{CONTENT_TYPE, Exposition, federate};

/// Writes the samples and the metadata of a body. Lines that can't be read don't affect the others.
///
/// `now_ms` is the time of samples without a timestamp.
pub fn write(db: &Db, body: &[u8], now_ms: i64) -> Ingested {
    let mut points = Points::default();
    let mut builder = LabelsBuilder::default();
    for (number, line) in body.split(|byte| *byte == b'\n').enumerate() {
        let read = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8");
        match read.and_then(Line::read) {
            Ok(Line::Nothing) => {}
            Ok(Line::Help { metric, help }) => {
                let metadata = Metadata {
                    // HELP and TYPE are separate lines, so each keeps the value of the other.
                    help,
                    ..db.metadata(&metric).unwrap_or_default()
                };
                describe(db, &mut points, number, &metric, metadata);
            }
            Ok(Line::Type { metric, kind }) => {
                let metadata = Metadata {
                    kind,
                    ..db.metadata(&metric).unwrap_or_default()
                };
                describe(db, &mut points, number, &metric, metadata);
            }
            Ok(Line::Sample(sample)) => {
                builder.clear();
                builder.metric(&sample.name);
                for (name, value) in &sample.labels {
                    builder.label(name, value);
                }
                let timestamp_ms = sample.timestamp_ms.unwrap_or(now_ms);
                match builder.build_ref() {
                    Ok(labels) => {
                        let sample = Sample {
                            timestamp_ms,
                            value: sample.value,
                        };
                        points.push_at(number, labels, sample);
                    }
                    Err(error) => points.refuse_at(number, error.into()),
                }
            }
            Err(reason) => points.refuse_at(number, Fault::form(reason)),
        }
    }
    points.write(db)
}

/// Sets the metadata of a metric if it has changed. Repeated scrapes carry the same metadata every
/// time.
fn describe(db: &Db, points: &mut Points, number: usize, metric: &str, metadata: Metadata) {
    if db.metadata(metric).unwrap_or_default() == metadata {
        return;
    }
    if let Err(error) = db.set_metadata(metric, metadata) {
        points.refuse_at(number, error.into());
    }
}
