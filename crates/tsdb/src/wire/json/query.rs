use std::fmt::Write;

use super::decimal::{ZEROS, to_eight_digits};
use super::number::ValueWriter;
use super::point::members;
use super::scan::{Malformed, Scanner};
use super::{Answer, push_string};
use crate::{Db, Labels, METRIC_NAME, Matcher, Sample, Selection};

/// Answers with the points of a metric; see the [module](super).
///
/// `tags` picks the series that have each of these tags. Points of several series are merged by
/// time; of one time, those of one series stand together in order of arrival.
pub fn query(db: &Db, body: &[u8]) -> Answer {
    match Query::read(body) {
        Ok(query) => query.answer(&query.select(db)),
        Err(error) => Answer::bad_request(&error),
    }
}

/// [`query`] in its steps, for a caller that looks at the selection before it is read.
#[derive(Debug)]
pub struct Query {
    metric: String,
    start_ms: i64,
    end_ms: i64,
    matchers: Vec<Matcher>,
}

#[derive(Default)]
struct Request {
    metric: Option<String>,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    tags: Vec<Matcher>,
    fault: Option<&'static str>,
}

impl Request {
    fn read(body: &[u8]) -> Result<Query, String> {
        let text = std::str::from_utf8(body).map_err(|error| format!("malformed JSON: {error}"))?;
        let mut scanner = Scanner::new(text);
        if scanner.peek() != Some(b'{') {
            return Err("the body must be an object".into());
        }
        Self::fields(&mut scanner)
            .map_err(|error| error.to_string())?
            .checked()
    }

    fn fields(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        let mut request = Self::default();
        scanner.expect(b'{', "an object")?;
        if !scanner.accept(b'}') {
            loop {
                let key = scanner.key()?;
                let fault = request.field(&key.decoded(), scanner)?;
                request.fault = request.fault.or(fault);
                if !scanner.accept(b',') {
                    break;
                }
            }
            scanner.expect(b'}', "a comma or a closing brace")?;
        }
        scanner.end()?;
        Ok(request)
    }

    /// Reads a member, and says what is wrong with it.
    fn field(
        &mut self,
        name: &str,
        scanner: &mut Scanner<'_>,
    ) -> Result<Option<&'static str>, Malformed> {
        let start = scanner.peek();
        match (name, start) {
            ("metric", Some(b'"')) => self.metric = Some(scanner.string()?.decoded().into()),
            ("start" | "end", Some(b'-' | b'0'..=b'9')) => {
                let Some(time) = scanner.number()?.integer() else {
                    return Ok(Some("start and end must be integers of 64 bits"));
                };
                let bound = if name == "start" {
                    &mut self.start_ms
                } else {
                    &mut self.end_ms
                };
                *bound = Some(time);
            }
            ("tags", Some(b'{')) => {
                self.tags.clear();
                let all = members(scanner, |name, value| {
                    self.tags.push(Matcher::equal(name, value));
                })?;
                return Ok(if all {
                    None
                } else {
                    Some("the values of tags must be strings")
                });
            }
            _ => {
                scanner.skip()?;
                return Ok(match (name, start) {
                    ("metric", _) => Some("metric must be a string"),
                    ("start" | "end", _) => Some("start and end must be numbers"),
                    ("tags", Some(b'n')) => None,
                    ("tags", _) => Some("tags must be an object"),
                    _ => None,
                });
            }
        }
        Ok(None)
    }

    fn checked(mut self) -> Result<Query, String> {
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let missing = |field: &str| format!("{field} is missing");
        let metric = self.metric.filter(|metric| !metric.is_empty());
        let metric = metric.ok_or_else(|| missing("metric"))?;
        let start_ms = self.start_ms.ok_or_else(|| missing("start"))?;
        let end_ms = self.end_ms.ok_or_else(|| missing("end"))?;
        if start_ms > end_ms {
            return Err("start is after end".into());
        }
        self.tags.push(Matcher::metric(&metric));
        Ok(Query {
            metric,
            start_ms,
            end_ms,
            matchers: self.tags,
        })
    }
}

/// About the bytes of a point, to begin with.
const POINT_BYTES: usize = 64;

impl Query {
    /// Reads a body.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        Request::read(body)
    }

    /// The series that it is about.
    pub fn select(&self, db: &Db) -> Selection {
        db.select(&self.matchers, self.start_ms, self.end_ms)
    }

    /// The answer with the points of a selection.
    pub fn answer(&self, selection: &Selection) -> Answer {
        let mut out = String::with_capacity(256);
        out.push_str(r#"{"metric":"#);
        push_string(&mut out, &self.metric);
        // Writing to a String doesn't fail.
        let _ = write!(
            out,
            r#","start":{},"end":{},"points":["#,
            self.start_ms, self.end_ms
        );
        let mut writer = PointWriter::new(&self.metric);
        let mut bytes = out.into_bytes();
        match selection.len() {
            0 => {}
            1 => writer.push_series(&mut bytes, selection),
            _ => writer.push_merged(&mut bytes, selection),
        }
        let mut out = String::from_utf8(bytes).expect("points are written in UTF-8");
        let _ = write!(out, r#"],"count":{}}}"#, writer.count);
        Answer::ok(out)
    }
}

/// Writes points; what they have in common is prepared once.
struct PointWriter {
    /// Begins with a comma, which the first point leaves out.
    before_time: String,
    /// All of the last point up to its value.
    before_value: Vec<u8>,
    /// The time of the last point without its last eight digits, if it has more.
    time_begin: Option<i64>,
    times: itoa::Buffer,
    values: ValueWriter,
    count: usize,
}

const BEFORE_VALUE: &[u8] = br#","value":"#;

impl PointWriter {
    fn new(metric: &str) -> Self {
        let mut before_time = String::from(r#",{"metric":"#);
        push_string(&mut before_time, metric);
        before_time.push_str(r#","timestamp":"#);
        Self {
            before_time,
            before_value: Vec::new(),
            time_begin: None,
            times: itoa::Buffer::new(),
            values: ValueWriter::new(),
            count: 0,
        }
    }

    #[inline]
    fn push(&mut self, out: &mut Vec<u8>, sample: Sample, after_value: &str) {
        self.set_time(sample.timestamp_ms);
        let comma = usize::from(self.count == 0);
        self.count += 1;
        out.extend_from_slice(&self.before_value[comma..]);
        self.values.push(out, sample.value);
        out.extend_from_slice(after_value.as_bytes());
    }

    /// Points follow each other so closely that few of the time's digits change.
    #[inline]
    fn set_time(&mut self, timestamp_ms: i64) {
        const CHANGING: i64 = 100_000_000;
        let begin = (timestamp_ms >= CHANGING).then_some(timestamp_ms / CHANGING);
        if begin.is_none() || begin != self.time_begin {
            self.before_value.clear();
            self.before_value
                .extend_from_slice(self.before_time.as_bytes());
            let time = self.times.format(timestamp_ms);
            self.before_value.extend_from_slice(time.as_bytes());
            self.before_value.extend_from_slice(BEFORE_VALUE);
            self.time_begin = begin;
            return;
        }
        let end = self.before_value.len() - BEFORE_VALUE.len();
        let digits = to_eight_digits((timestamp_ms % CHANGING).cast_unsigned()) | ZEROS;
        self.before_value[end - 8..end].copy_from_slice(&digits.to_le_bytes());
    }

    /// The points of the only series, block by block.
    fn push_series(&mut self, out: &mut Vec<u8>, selection: &Selection) {
        for series in selection.iter() {
            let end = after_value(series.labels());
            let mut cursor = series.cursor();
            while let Some(block) = cursor.next_block() {
                out.reserve(block.values.len() * POINT_BYTES);
                for (&timestamp_ms, &value) in block.timestamps_ms.iter().zip(block.values) {
                    self.push(
                        out,
                        Sample {
                            timestamp_ms,
                            value,
                        },
                        &end,
                    );
                }
            }
        }
    }

    /// The points of several series by time.
    fn push_merged(&mut self, out: &mut Vec<u8>, selection: &Selection) {
        let mut points: Vec<(Sample, usize)> = Vec::new();
        let mut ends = Vec::new();
        let mut samples = Vec::new();
        for series in selection.iter() {
            samples.clear();
            series.collect_into(&mut samples);
            points.extend(samples.iter().map(|sample| (*sample, ends.len())));
            ends.push(after_value(series.labels()));
        }
        points.sort_by_key(|(sample, _)| sample.timestamp_ms);
        out.reserve(points.len() * POINT_BYTES);
        for (sample, series) in points {
            self.push(out, sample, &ends[series]);
        }
    }
}

/// What follows the value of each point of a series: its tags, where it has any.
fn after_value(labels: &Labels) -> String {
    let mut out = String::new();
    for label in labels.iter().filter(|label| label.name != METRIC_NAME) {
        out.push_str(if out.is_empty() { r#","tags":{"# } else { "," });
        push_string(&mut out, label.name);
        out.push(':');
        push_string(&mut out, label.value);
    }
    out.push_str(if out.is_empty() { "}" } else { "}}" });
    out
}
