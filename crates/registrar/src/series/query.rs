use std::io::{self, Write};

use jiff::Timestamp;
use tsdb::promql::{
    Query, QueryError, QueryOptions, TimeRange, Value, parse_duration, parse_time, to_json,
};
use tsdb::{Labels, Sample};

use crate::failure::{Failure, Kind};
use crate::output::{Output, bold, printable};
use crate::place::Place;

/// Evaluate PromQL. With --json, the answer has the form of Prometheus' HTTP interface.
#[derive(clap::Args)]
pub(crate) struct QuerySeries {
    /// The data folder of a server, or the folder of the series.
    place: Place,
    /// The query.
    query: String,
    /// The time, in seconds since 1970 or as 2026-11-28T12:00:00Z [default: now].
    #[arg(long, value_parser = time, conflicts_with_all = ["start", "end", "step"])]
    time: Option<i64>,
    /// The first time of a range.
    #[arg(long, value_parser = time, requires = "end")]
    start: Option<i64>,
    /// The last time of the range.
    #[arg(long, value_parser = time, requires = "start")]
    end: Option<i64>,
    /// The time between two values of the range, for example 30s.
    #[arg(long, value_parser = duration, default_value = "1m")]
    step: i64,
}

fn time(text: &str) -> Result<i64, String> {
    parse_time(text).ok_or_else(|| "expected seconds or a time with a zone".to_owned())
}

fn duration(text: &str) -> Result<i64, String> {
    parse_duration(text).ok_or_else(|| "expected seconds, or a duration such as 5m".to_owned())
}

impl QuerySeries {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let query = Query::parse(&self.query).map_err(|failed| failure(&failed))?;
        let db = super::open(&self.place)?;
        let options = QueryOptions::default();
        let answer = match self.start.zip(self.end) {
            Some((start_ms, end_ms)) => {
                let range = TimeRange {
                    start_ms,
                    end_ms,
                    step_ms: self.step,
                };
                query.range(&db, range, &options)
            }
            None => {
                let now = || Timestamp::now().as_millisecond();
                query.instant(&db, self.time.unwrap_or_else(now), &options)
            }
        };
        if output.is_json() {
            writeln!(output.writer(), "{}", to_json(&answer))?;
        }
        let value = answer.map_err(|failed| failure(&failed))?;
        match output.is_json() {
            true => Ok(()),
            false => Ok(write_text(output.writer(), &value)?),
        }
    }
}

fn failure(failed: &QueryError) -> Failure {
    let kind = match failed {
        QueryError::Timeout { .. } => Kind::Unreachable,
        QueryError::Storage(_) => Kind::Unusable,
        _ => Kind::Input,
    };
    Failure::new(kind, failed.to_string())
}

fn write_text(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Scalar(sample) => write_sample(out, None, *sample),
        Value::String { text, .. } => writeln!(out, "{}", printable(text)),
        Value::Vector(series) => series
            .iter()
            .try_for_each(|series| write_sample(out, Some(&series.labels), series.sample)),
        Value::Matrix(series) => series.iter().try_for_each(|series| {
            let mut samples = series.samples.iter();
            samples.try_for_each(|sample| write_sample(out, Some(&series.labels), *sample))
        }),
        _ => Ok(()),
    }
}

fn write_sample(out: &mut impl Write, labels: Option<&Labels>, sample: Sample) -> io::Result<()> {
    if let Some(labels) = labels {
        write!(out, "{} ", printable(&labels.to_string()))?;
    }
    let time = Timestamp::from_millisecond(sample.timestamp_ms);
    let time = time.map_or_else(|_| sample.timestamp_ms.to_string(), |time| time.to_string());
    writeln!(out, "{} {time}", bold(sample.value))
}
