use super::reader::Reader;
use super::timestamps::{self, EncodedTimestamps, Rhythm, TimestampCodec};
use super::values::{self, EncodedValues, ExponentCache, ValueCodec};
use super::{FRAME, Malformed};
use crate::Sample;

const EXCEPTIONS: u8 = 1 << 5;
const SHORT: u8 = 1 << 6;

/// Up to [`FRAME`] samples, decoded.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) timestamps_ms: [i64; FRAME],
    pub(crate) values: [f64; FRAME],
    pub(crate) count: usize,
    /// A work buffer for decoding values.
    integers: [i64; FRAME],
}

impl Columns {
    pub(crate) const EMPTY: Self = Self {
        timestamps_ms: [0; FRAME],
        values: [0.0; FRAME],
        count: 0,
        integers: [0; FRAME],
    };

    /// Copies at most [`FRAME`] samples.
    pub(crate) fn from_samples(samples: &[Sample]) -> Self {
        let mut columns = Self::EMPTY;
        columns.fill(samples);
        columns
    }

    /// Replaces the content with at most [`FRAME`] samples.
    pub(crate) fn fill(&mut self, samples: &[Sample]) {
        let slots = self.timestamps_ms.iter_mut().zip(&mut self.values);
        for (sample, (timestamp_ms, value)) in samples.iter().zip(slots) {
            *timestamp_ms = sample.timestamp_ms;
            *value = sample.value;
        }
        self.count = samples.len().min(FRAME);
    }
}

/// Appends a frame of at least one sample, in ascending order of time.
pub(crate) fn encode(
    columns: &Columns,
    origin: i64,
    rhythm: &mut Rhythm,
    cache: &mut ExponentCache,
    out: &mut Vec<u8>,
) {
    // Push a placeholder: the kind byte is known only after the codecs have been chosen.
    let kind_offset = out.len();
    out.push(0);
    let count = columns.count;
    if count < FRAME {
        out.push(count as u8);
    }
    let timestamps = timestamps::encode(&columns.timestamps_ms, count, origin, rhythm, out);
    let values = values::encode(&columns.values[..count], cache, out);
    let short = if count < FRAME { SHORT } else { 0 };
    out[kind_offset] = kind(timestamps, values) | short;
}

fn kind(timestamps: TimestampCodec, values: ValueCodec) -> u8 {
    let values = match values {
        ValueCodec::Constant => 0,
        ValueCodec::Decimal { delta, exceptions } => {
            1 + u8::from(delta) + if exceptions { EXCEPTIONS } else { 0 }
        }
        ValueCodec::Bits { delta } => 3 + u8::from(delta),
    };
    let timestamps = match timestamps {
        TimestampCodec::Continued => 0,
        TimestampCodec::Fixed => 1,
        TimestampCodec::Delta => 2,
    };
    values | timestamps << 3
}

fn codecs(kind: u8) -> Result<(TimestampCodec, ValueCodec), Malformed> {
    let exceptions = kind & EXCEPTIONS != 0;
    let values = match kind & 7 {
        0 => ValueCodec::Constant,
        delta @ 1..=2 => ValueCodec::Decimal {
            delta: delta == 2,
            exceptions,
        },
        delta @ 3..=4 => ValueCodec::Bits { delta: delta == 4 },
        _ => return Err(Malformed),
    };
    let timestamps = match kind >> 3 & 3 {
        0 => TimestampCodec::Continued,
        1 => TimestampCodec::Fixed,
        2 => TimestampCodec::Delta,
        _ => return Err(Malformed),
    };
    Ok((timestamps, values))
}

/// A frame whose headers have been read, but not its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) count: usize,
    pub(crate) timestamps: EncodedTimestamps<'a>,
    values: EncodedValues<'a>,
}

impl<'a> Frame<'a> {
    #[inline]
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        origin: i64,
        rhythm: &mut Rhythm,
    ) -> Result<Self, Malformed> {
        let kind = reader.byte()?;
        let (timestamps, values) = codecs(kind)?;
        let count = match kind & SHORT {
            0 => FRAME,
            _ => reader.byte()? as usize,
        };
        if !(1..=FRAME).contains(&count) {
            return Err(Malformed);
        }
        Ok(Self {
            count,
            timestamps: EncodedTimestamps::read(timestamps, reader, count, origin, rhythm)?,
            values: EncodedValues::read(values, reader, count)?,
        })
    }

    #[inline]
    pub(crate) fn decode(&self, columns: &mut Columns) -> Result<(), Malformed> {
        self.timestamps.decode(&mut columns.timestamps_ms)?;
        self.values
            .decode(&mut columns.integers, &mut columns.values)?;
        columns.count = self.count;
        Ok(())
    }
}
