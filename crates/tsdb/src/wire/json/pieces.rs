use std::ops::RangeInclusive;

use super::decimal::{ZEROS, to_eight_digits};
use super::number::ValueWriter;
use crate::merge::Merge;
use crate::{Labels, METRIC_NAME, Sample, Selection, push_json_string};

/// The answer to a [`Query`](super::Query), written piece by piece, with any number of points.
///
/// The answer shares the compressed blocks that each series had when the answer was created, so it
/// does not contain later writes. It also holds up to 128 decoded points per series. Its memory
/// does not grow with the length of its text.
///
/// ```
/// # use tsdb::wire::json::{Pieces, Query};
/// # let db = tsdb::Db::new(tsdb::DbOptions::default());
/// let query = Query::read(br#"{"metric":"cpu","start":0,"end":9}"#)?;
/// let mut pieces = query.pieces(&query.select(&db));
/// let (mut piece, mut more) = (Vec::with_capacity(Pieces::BYTES), true);
/// while more {
///     piece.clear();
///     more = pieces.write_next(&mut piece);
///     // send it
/// }
/// # assert_eq!(piece, br#"{"metric":"cpu","start":0,"end":9,"points":[],"count":0}"#);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Pieces {
    /// The text before the points. Empty once it is written.
    beginning: String,
    points: Merge,
    writer: PointWriter,
    /// The text after the value of each point, by series: the tags, if any, and the closing brace.
    after_values: Vec<String>,
    /// The maximum length of a point.
    max_point_bytes: usize,
    done: bool,
}

/// Space for the text after the points, and for the last value, which is written in 16-byte units.
const END_BYTES: usize = 64;

impl Pieces {
    /// The maximum length of a piece. The text before the points and a single point are never
    /// split, so a piece with one of them can be longer.
    ///
    /// A piece of this size fits the first caches of a processor and takes some 20 µs to write.
    pub const BYTES: usize = 64 * 1024;

    pub(super) fn new(metric: &str, times_ms: RangeInclusive<i64>, selection: &Selection) -> Self {
        let mut beginning = String::from(r#"{"metric":"#);
        push_json_string(&mut beginning, metric);
        let mut number = itoa::Buffer::new();
        beginning.push_str(r#","start":"#);
        beginning.push_str(number.format(*times_ms.start()));
        beginning.push_str(r#","end":"#);
        beginning.push_str(number.format(*times_ms.end()));
        beginning.push_str(r#","points":["#);
        let mut points = Merge::new();
        let mut after_values = Vec::new();
        for series in selection.iter() {
            // A series that was deleted since the selection has no points.
            if points.add(series.snapshot()) {
                after_values.push(after_value(series.labels()));
            }
        }
        let writer = PointWriter::new(metric);
        let after_value = after_values.iter().map(String::len).max();
        Self {
            beginning,
            points,
            max_point_bytes: writer.max_point_bytes() + after_value.unwrap_or_default(),
            writer,
            after_values,
            done: false,
        }
    }

    /// Appends the next piece to `out` and returns whether more pieces follow. After the last piece
    /// it appends nothing.
    ///
    /// An `out` with capacity for [`BYTES`](Self::BYTES) does not grow, unless a point is longer
    /// than that.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let begun = out.len();
        out.append(&mut std::mem::take(&mut self.beginning).into_bytes());
        while !self.done {
            let left = (begun + Self::BYTES - END_BYTES).saturating_sub(out.len());
            let fitting = left / self.max_point_bytes;
            // An empty piece takes a point of any length, so that every call makes progress.
            if fitting == 0 && out.len() > begun {
                return true;
            }
            match self.points.next_run(fitting.max(1)) {
                Some((series, points)) => {
                    // Reserves once per run, so that no point reallocates.
                    out.reserve(points.len() * self.max_point_bytes + END_BYTES);
                    let after_value = &self.after_values[series];
                    for point in points {
                        self.writer.push(out, *point, after_value);
                    }
                }
                None => {
                    out.extend_from_slice(br#"],"count":"#);
                    let mut count = itoa::Buffer::new();
                    out.extend_from_slice(count.format(self.writer.count).as_bytes());
                    out.push(b'}');
                    self.done = true;
                }
            }
        }
        false
    }

    /// The maximum memory that the answer holds, in bytes. Includes the blocks that it shares with
    /// the series and keeps alive.
    pub fn size_bytes(&self) -> usize {
        let texts = self.after_values.iter();
        let texts = texts.map(|text| size_of::<String>() + text.capacity());
        size_of::<Self>() + self.points.size_bytes() + texts.sum::<usize>()
    }
}

/// Writes points. The text that all points share is prepared once.
#[derive(Debug)]
struct PointWriter {
    /// The text of a point before its time. It begins with a comma, which the first point omits.
    before_time: String,
    /// The last point up to its value.
    before_value: Vec<u8>,
    /// The time of the last point without its last eight digits. `None` if it has no other digits
    /// or is negative.
    time_begin: Option<i64>,
    values: ValueWriter,
    count: usize,
}

const BEFORE_VALUE: &[u8] = br#","value":"#;

impl PointWriter {
    fn new(metric: &str) -> Self {
        let mut before_time = String::from(r#",{"metric":"#);
        push_json_string(&mut before_time, metric);
        before_time.push_str(r#","timestamp":"#);
        Self {
            before_time,
            before_value: Vec::new(),
            time_begin: None,
            values: ValueWriter::default(),
            count: 0,
        }
    }

    /// The maximum length of a point without the text after its value.
    fn max_point_bytes(&self) -> usize {
        let time = "-9223372036854775808".len();
        self.before_time.len() + time + BEFORE_VALUE.len() + ValueWriter::LONGEST
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

    /// Sets the time of the next point. Times are close to each other, so usually only the last
    /// eight digits change and are overwritten in place.
    #[inline]
    fn set_time(&mut self, timestamp_ms: i64) {
        const CHANGING: i64 = 100_000_000;
        // Negative and shorter times have no fixed place for the last eight digits.
        let begin = (timestamp_ms >= CHANGING).then_some(timestamp_ms / CHANGING);
        if begin.is_none() || begin != self.time_begin {
            self.before_value.clear();
            self.before_value
                .extend_from_slice(self.before_time.as_bytes());
            let mut buffer = itoa::Buffer::new();
            let time = buffer.format(timestamp_ms);
            self.before_value.extend_from_slice(time.as_bytes());
            self.before_value.extend_from_slice(BEFORE_VALUE);
            self.time_begin = begin;
            return;
        }
        let end = self.before_value.len() - BEFORE_VALUE.len();
        let digits = to_eight_digits((timestamp_ms % CHANGING).cast_unsigned()) | ZEROS;
        self.before_value[end - 8..end].copy_from_slice(&digits.to_le_bytes());
    }
}

fn after_value(labels: &Labels) -> String {
    let mut out = String::new();
    for label in labels.iter().filter(|label| label.name != METRIC_NAME) {
        out.push_str(if out.is_empty() { r#","tags":{"# } else { "," });
        push_json_string(&mut out, label.name);
        out.push(':');
        push_json_string(&mut out, label.value);
    }
    out.push_str(if out.is_empty() { "}" } else { "}}" });
    out
}
