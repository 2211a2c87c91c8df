use std::ops::RangeInclusive;

use super::decimal::{ZEROS, to_eight_digits};
use super::number::ValueWriter;
use super::push_string;
use crate::merge::Merge;
use crate::{Labels, METRIC_NAME, Sample, Selection};

/// The answer to a [`Query`](super::Query) of any number of points, written piece by piece.
///
/// The points are those that the series had when this was made: it shares their compressed blocks,
/// and later writes do not show. Beside these it has up to 128 points decoded for each series, or as
/// many as the series has if these are fewer; nothing grows with the length of the answer.
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
    /// What stands before the points, until it is written.
    beginning: String,
    points: Merge,
    writer: PointWriter,
    /// What follows the value of each point of a series: its tags, where it has any.
    after_values: Vec<String>,
    /// The most bytes of a point.
    longest: usize,
    done: bool,
}

/// What may follow the points, and the room in which the last value is written.
const END: usize = 64;

impl Pieces {
    /// The bytes of a piece, at most. Only the beginning with the metric's name, and a point, are
    /// in one piece whatever their length.
    ///
    /// Such a piece is written in the first caches of a processor, within some 20 µs.
    pub const BYTES: usize = 64 * 1024;

    pub(super) fn new(metric: &str, times_ms: RangeInclusive<i64>, selection: &Selection) -> Self {
        let mut beginning = String::from(r#"{"metric":"#);
        push_string(&mut beginning, metric);
        let mut number = itoa::Buffer::new();
        beginning.push_str(r#","start":"#);
        beginning.push_str(number.format(*times_ms.start()));
        beginning.push_str(r#","end":"#);
        beginning.push_str(number.format(*times_ms.end()));
        beginning.push_str(r#","points":["#);
        let mut points = Merge::new();
        let mut after_values = Vec::new();
        for series in selection.iter() {
            if points.add(series.snapshot()) {
                after_values.push(after_value(series.labels()));
            }
        }
        let writer = PointWriter::new(metric);
        let after_value = after_values.iter().map(String::len).max();
        Self {
            beginning,
            points,
            longest: writer.longest() + after_value.unwrap_or_default(),
            writer,
            after_values,
            done: false,
        }
    }

    /// Appends the next piece to `out`, and returns whether more follow. After the last, nothing is
    /// appended.
    ///
    /// An `out` that has room for [`BYTES`](Self::BYTES) does not grow.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let begun = out.len();
        out.append(&mut std::mem::take(&mut self.beginning).into_bytes());
        while !self.done {
            let left = (begun + Self::BYTES - END).saturating_sub(out.len());
            let fitting = left / self.longest;
            if fitting == 0 && out.len() > begun {
                return true;
            }
            match self.points.next_run(fitting.max(1)) {
                Some((series, points)) => {
                    out.reserve(points.len() * self.longest + END);
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

    /// The bytes that this keeps in memory at most, the blocks that it shares with the series among
    /// them, for they stay while it does.
    pub fn size_bytes(&self) -> usize {
        let texts = self.after_values.iter();
        let texts = texts.map(|text| size_of::<String>() + text.capacity());
        size_of::<Self>() + self.points.size_bytes() + texts.sum::<usize>()
    }
}

/// Writes points; what they have in common is prepared once.
#[derive(Debug)]
struct PointWriter {
    /// Begins with a comma, which the first point leaves out.
    before_time: String,
    /// All of the last point up to its value.
    before_value: Vec<u8>,
    /// The time of the last point without its last eight digits, if it has more.
    time_begin: Option<i64>,
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
            values: ValueWriter::default(),
            count: 0,
        }
    }

    /// The most bytes of a point, but for what follows its value.
    fn longest(&self) -> usize {
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

    /// Points follow each other so closely that few of the time's digits change.
    #[inline]
    fn set_time(&mut self, timestamp_ms: i64) {
        const CHANGING: i64 = 100_000_000;
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
        push_string(&mut out, label.name);
        out.push(':');
        push_string(&mut out, label.value);
    }
    out.push_str(if out.is_empty() { "}" } else { "}}" });
    out
}
