use super::protobuf::{push_varint, varint_length};
use crate::{Label, Labels, Sample};

/// Encodes these series as the body of a write request.
pub fn encode<'a>(series: impl IntoIterator<Item = (&'a Labels, &'a [Sample])>) -> Vec<u8> {
    let mut message = Vec::new();
    for (labels, samples) in series {
        // The length precedes the contents, so it is computed before they are written.
        let length = labels
            .iter()
            .map(|label| framed(label_length(label)))
            .sum::<usize>()
            + samples
                .iter()
                .map(|sample| framed(sample_length(*sample)))
                .sum::<usize>();
        push_frame(&mut message, 1, length);
        for label in labels {
            push_frame(&mut message, 1, label_length(label));
            for (field, text) in [(1, label.name), (2, label.value)] {
                push_frame(&mut message, field, text.len());
                message.extend_from_slice(text.as_bytes());
            }
        }
        for sample in samples {
            push_frame(&mut message, 2, sample_length(*sample));
            message.push(1 << 3 | 1);
            message.extend_from_slice(&sample.value.to_bits().to_le_bytes());
            message.push(2 << 3);
            push_varint(&mut message, sample.timestamp_ms.cast_unsigned());
        }
    }
    compress(&message)
}

fn compress(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0; snap::raw::max_compress_len(message.len())];
    let compressed = snap::raw::Encoder::new().compress(message, &mut out);
    // The only error is a message of 4 GiB or more.
    out.truncate(compressed.unwrap_or(0));
    out
}

/// The length of a field including its key and its length prefix.
fn framed(length: usize) -> usize {
    1 + varint_length(length as u64) + length
}

fn push_frame(out: &mut Vec<u8>, field: u8, length: usize) {
    out.push(field << 3 | 2);
    push_varint(out, length as u64);
}

fn label_length(label: Label<'_>) -> usize {
    framed(label.name.len()) + framed(label.value.len())
}

fn sample_length(sample: Sample) -> usize {
    1 + size_of::<f64>() + 1 + varint_length(sample.timestamp_ms.cast_unsigned())
}
