//! The messages of version 2, read in place: `Request`, `TimeSeries`, `Sample`, `Exemplar` and
//! `Metadata`. A text is the number of an entry in the request's list of symbols.

use super::message::{kind_of, text};
use super::protobuf::{Fields, Truncated, Value};
use crate::{LabelsBuilder, MetricKind, Sample};

/// The texts of a request.
pub(super) struct Symbols<'m>(Vec<&'m str>);

impl<'m> Symbols<'m> {
    /// Reads the symbols of a request.
    pub(super) fn read(request: &'m [u8]) -> Result<Self, Truncated> {
        let mut symbols = Vec::new();
        let mut fields = Fields::new(request);
        while let Some(field) = fields.next()? {
            if let (4, Value::Bytes(symbol)) = field {
                symbols.push(text(symbol)?);
            }
        }
        Ok(Self(symbols))
    }

    fn get(&self, number: u64) -> Result<&'m str, Truncated> {
        let index = usize::try_from(number).map_err(|_| Truncated)?;
        self.0.get(index).copied().ok_or(Truncated)
    }

    /// Reads labels into an empty builder. Names and values take turns in `numbers`.
    pub(super) fn labels(
        &self,
        numbers: &[u64],
        labels: &mut LabelsBuilder,
    ) -> Result<(), Truncated> {
        let (pairs, rest) = numbers.as_chunks();
        for [name, value] in pairs {
            labels.label(self.get(*name)?, self.get(*value)?);
        }
        match rest {
            [] => Ok(()),
            _ => Err(Truncated),
        }
    }
}

/// Calls `show` with the series of a request in order.
pub(super) fn read_series<'m>(
    request: &'m [u8],
    mut show: impl FnMut(&'m [u8]) -> Result<(), Truncated>,
) -> Result<(), Truncated> {
    let mut fields = Fields::new(request);
    while let Some(field) = fields.next()? {
        if let (5, Value::Bytes(series)) = field {
            show(series)?;
        }
    }
    Ok(())
}

/// A series of a request. Kept between series for its buffers.
#[derive(Default)]
pub(super) struct SeriesMessage<'m> {
    /// The symbols of the labels: names and values in turns.
    pub(super) labels: Vec<u64>,
    pub(super) samples: Vec<Sample>,
    /// The times at which the series began at zero, in ascending order if the samples are.
    pub(super) starts_ms: Vec<i64>,
    pub(super) exemplars: Vec<&'m [u8]>,
    pub(super) metadata: MetadataMessage<'m>,
    /// The number of native histograms.
    pub(super) histograms: usize,
}

impl<'m> SeriesMessage<'m> {
    /// Reads a message in place of the last one.
    pub(super) fn read(
        &mut self,
        message: &'m [u8],
        symbols: &Symbols<'m>,
    ) -> Result<(), Truncated> {
        self.clear();
        let mut created_ms = 0;
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, value) => push_numbers(&mut self.labels, &value)?,
                (2, Value::Bytes(sample)) => self.sample(sample)?,
                (3, Value::Bytes(_)) => self.histograms += 1,
                (4, Value::Bytes(exemplar)) => self.exemplars.push(exemplar),
                (5, Value::Bytes(metadata)) => {
                    self.metadata = MetadataMessage::read(metadata, symbols)?;
                }
                (6, Value::Varint(time)) => created_ms = time.cast_signed(),
                _ => {}
            }
        }
        // Earlier drafts of the protocol have one time for all samples of a series.
        if let Some(first) = self.samples.first().copied()
            && self.starts_ms.is_empty()
        {
            self.start(created_ms, first);
        }
        Ok(())
    }

    fn clear(&mut self) {
        let Self {
            labels,
            samples,
            starts_ms,
            exemplars,
            metadata,
            histograms,
        } = self;
        labels.clear();
        samples.clear();
        starts_ms.clear();
        exemplars.clear();
        *metadata = MetadataMessage::default();
        *histograms = 0;
    }

    fn sample(&mut self, message: &[u8]) -> Result<(), Truncated> {
        let mut sample = Sample::new(0, 0.0);
        let mut start_ms = 0;
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, Value::Fixed64(bits)) => sample.value = f64::from_bits(bits),
                (2, Value::Varint(time)) => sample.timestamp_ms = time.cast_signed(),
                (3, Value::Varint(time)) => start_ms = time.cast_signed(),
                _ => {}
            }
        }
        self.samples.push(sample);
        self.start(start_ms, sample);
        Ok(())
    }

    /// Notes the time at which the series of a sample began. 0 means that it is unknown.
    fn start(&mut self, start_ms: i64, sample: Sample) {
        let known = start_ms != 0 && start_ms < sample.timestamp_ms;
        if known && self.starts_ms.last() != Some(&start_ms) {
            self.starts_ms.push(start_ms);
        }
    }
}

/// An exemplar. Reads its labels into an empty builder.
pub(super) fn read_exemplar(
    message: &[u8],
    symbols: &Symbols<'_>,
    labels: &mut LabelsBuilder,
) -> Result<Sample, Truncated> {
    let mut numbers = Vec::new();
    let mut sample = Sample::new(0, 0.0);
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, value) => push_numbers(&mut numbers, &value)?,
            (2, Value::Fixed64(bits)) => sample.value = f64::from_bits(bits),
            (3, Value::Varint(time)) => sample.timestamp_ms = time.cast_signed(),
            _ => {}
        }
    }
    symbols.labels(&numbers, labels)?;
    Ok(sample)
}

/// The type and the help text of a metric. The default says nothing.
#[derive(Default)]
pub(super) struct MetadataMessage<'m> {
    pub(super) kind: MetricKind,
    pub(super) help: &'m str,
}

impl<'m> MetadataMessage<'m> {
    fn read(message: &[u8], symbols: &Symbols<'m>) -> Result<Self, Truncated> {
        let mut metadata = Self::default();
        let mut fields = Fields::new(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, Value::Varint(kind)) => metadata.kind = kind_of(kind),
                (3, Value::Varint(number)) => metadata.help = symbols.get(number)?,
                _ => {}
            }
        }
        Ok(metadata)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kind == MetricKind::Unknown && self.help.is_empty()
    }
}

/// Appends a repeated number, which a sender may write packed or one by one.
fn push_numbers(numbers: &mut Vec<u64>, value: &Value<'_>) -> Result<(), Truncated> {
    match value {
        Value::Varint(number) => numbers.push(*number),
        Value::Bytes(packed) => {
            let mut fields = Fields::new(packed);
            while !fields.rest().is_empty() {
                numbers.push(fields.varint()?);
            }
        }
        _ => return Err(Truncated),
    }
    Ok(())
}
