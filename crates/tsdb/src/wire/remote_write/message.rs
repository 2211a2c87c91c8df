//! The messages `WriteRequest`, `TimeSeries`, `Label`, `Sample` and `MetricMetadata`, read in place.

use super::protobuf::{Fields, Truncated, Value};
use crate::{LabelsBuilder, MetricKind, Sample};

/// The key of a label in a series, and of the name in a label.
const LABEL: u8 = 1 << 3 | 2;

/// A part of a request.
pub(super) enum Part<'a> {
    Series(&'a [u8]),
    Metadata(&'a [u8]),
}

/// Calls `show` with the parts of a request in order.
pub(super) fn read_request<'a>(
    message: &'a [u8],
    mut show: impl FnMut(Part<'a>) -> Result<(), Truncated>,
) -> Result<(), Truncated> {
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Bytes(series)) => show(Part::Series(series))?,
            (3, Value::Bytes(metadata)) => show(Part::Metadata(metadata))?,
            _ => {}
        }
    }
    Ok(())
}

/// Splits a series after the labels that it begins with, without decoding them.
pub(super) fn split_series(message: &[u8]) -> Result<(&[u8], &[u8]), Truncated> {
    let mut fields = Fields::new(message);
    // Labels come first in practice. `read_samples` reports labels that follow later.
    while let [LABEL, ..] = fields.rest() {
        fields.next()?;
    }
    let length = message.len() - fields.rest().len();
    Ok(message.split_at(length))
}

/// Kinds of fields found among the samples.
#[derive(Default)]
pub(super) struct OtherFields {
    /// Labels. They belong to the series, like the labels before the samples.
    pub(super) labels: bool,
    /// Exemplars.
    pub(super) exemplars: bool,
    /// The number of native histograms.
    pub(super) histograms: usize,
}

/// Appends the samples of a part of a series to the list.
pub(super) fn read_samples(
    message: &[u8],
    samples: &mut Vec<Sample>,
) -> Result<OtherFields, Truncated> {
    const SAMPLE: u8 = 2 << 3 | 2;
    // This loop reads the usual form without decoding keys: samples shorter than 128 bytes.
    let mut others = OtherFields::default();
    let mut rest = message;
    while let [SAMPLE, length @ ..0x80, after @ ..] = rest
        && let Some((sample, after)) = after.split_at_checked(*length as usize)
    {
        samples.push(read_sample(sample)?);
        rest = after;
    }
    let mut fields = Fields::new(rest);
    while let Some(field) = fields.next()? {
        match field {
            (1, _) => others.labels = true,
            (2, Value::Bytes(sample)) => samples.push(read_sample(sample)?),
            (3, _) => others.exemplars = true,
            (4, _) => others.histograms += 1,
            _ => {}
        }
    }
    Ok(others)
}

/// Reads the labels of a series, or of a part of it, into an empty builder.
pub(super) fn read_labels(message: &[u8], labels: &mut LabelsBuilder) -> Result<(), Truncated> {
    let rest = read_plain_labels(message, labels).unwrap_or_else(|| {
        labels.clear();
        message
    });
    let mut fields = Fields::new(rest);
    while let Some(field) = fields.next()? {
        if let (1, Value::Bytes(label)) = field {
            let (name, value) = read_label(label)?;
            labels.label(name, value);
        }
    }
    Ok(())
}

/// Reads the labels that a series begins with and returns the rest. `None` unless each label is a
/// name and a value in less than 128 bytes, as most are.
fn read_plain_labels<'a>(message: &'a [u8], labels: &mut LabelsBuilder) -> Option<&'a [u8]> {
    const NAME: u8 = LABEL;
    const VALUE: u8 = 2 << 3 | 2;
    let mut end = 0;
    while let [LABEL, length @ ..0x80, ..] = message.get(end..)? {
        end += 2 + *length as usize;
    }
    // Keys and lengths below 128 are ASCII, so the bytes are UTF-8 if and only if all names and
    // values are.
    let (plain, rest) = message.split_at_checked(end)?;
    let text = std::str::from_utf8(plain).ok()?;
    let mut position = 0;
    while let [LABEL, length, NAME, name, ..] = plain[position..] {
        let end = position + 2 + length as usize;
        let name = position + 4..position + 4 + name as usize;
        let value = name.end + 2..end;
        let [VALUE, value_length] = *plain.get(name.end..value.start)? else {
            return None;
        };
        if value_length as usize != value.len() {
            return None;
        }
        labels.label(text.get(name)?, text.get(value)?);
        position = end;
    }
    (position == end).then_some(rest)
}

fn read_label(message: &[u8]) -> Result<(&str, &str), Truncated> {
    let (mut name, mut value) = ("", "");
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Bytes(bytes)) => name = text(bytes)?,
            (2, Value::Bytes(bytes)) => value = text(bytes)?,
            _ => {}
        }
    }
    Ok((name, value))
}

#[inline]
fn read_sample(message: &[u8]) -> Result<Sample, Truncated> {
    const VALUE: u8 = 1 << 3 | 1;
    const TIMESTAMP: u8 = 2 << 3;
    // The order in which senders write the fields; any other order takes the loop below.
    if let [VALUE, a, b, c, d, e, f, g, h, TIMESTAMP, timestamp @ ..] = message {
        let mut fields = Fields::new(timestamp);
        let timestamp = fields.varint()?;
        if fields.rest().is_empty() {
            return Ok(Sample {
                timestamp_ms: timestamp.cast_signed(),
                value: f64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
            });
        }
    }
    let mut sample = Sample {
        timestamp_ms: 0,
        value: 0.0,
    };
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Fixed64(bits)) => sample.value = f64::from_bits(bits),
            (2, Value::Varint(timestamp)) => sample.timestamp_ms = timestamp.cast_signed(),
            _ => {}
        }
    }
    Ok(sample)
}

/// Reads an exemplar, and its labels into an empty builder.
pub(super) fn read_exemplar(
    message: &[u8],
    labels: &mut LabelsBuilder,
) -> Result<Sample, Truncated> {
    let mut sample = Sample::new(0, 0.0);
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Bytes(label)) => {
                let (name, value) = read_label(label)?;
                labels.label(name, value);
            }
            (2, Value::Fixed64(bits)) => sample.value = f64::from_bits(bits),
            (3, Value::Varint(time)) => sample.timestamp_ms = time.cast_signed(),
            _ => {}
        }
    }
    Ok(sample)
}

/// The metadata of a metric in a request.
#[derive(Default)]
pub(super) struct MetadataPart<'a> {
    pub(super) metric: &'a str,
    pub(super) kind: MetricKind,
    pub(super) help: &'a str,
}

/// The suffixes of the series that make up a histogram or a summary.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// The metric that metadata of a series describes: for a part of a histogram or a summary, the name
/// without its suffix.
pub(super) fn described(name: &str, kind: MetricKind) -> &str {
    match kind {
        MetricKind::Histogram | MetricKind::Summary => SUFFIXES
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(name),
        _ => name,
    }
}

/// Reads the metadata of a metric.
pub(super) fn read_metadata(message: &[u8]) -> Result<MetadataPart<'_>, Truncated> {
    let mut part = MetadataPart::default();
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Varint(kind)) => part.kind = kind_of(kind),
            (2, Value::Bytes(bytes)) => part.metric = text(bytes)?,
            (4, Value::Bytes(bytes)) => part.help = text(bytes)?,
            _ => {}
        }
    }
    Ok(part)
}

pub(super) fn kind_of(number: u64) -> MetricKind {
    // `MetricType` of the protocol. The other kinds have no counterpart here.
    match number {
        1 => MetricKind::Counter,
        2 => MetricKind::Gauge,
        3 => MetricKind::Histogram,
        5 => MetricKind::Summary,
        _ => MetricKind::Unknown,
    }
}

pub(super) fn text(bytes: &[u8]) -> Result<&str, Truncated> {
    std::str::from_utf8(bytes).map_err(|_| Truncated)
}
