//! The choice of series for `limit_ratio`.

use xxhash_rust::xxh64::xxh64;

use crate::Labels;

/// A length that does not fit into one byte.
const LONG: usize = 255;

/// The place of a series between 0 and 1, the same in every process and in Prometheus: XXH64 of the labels,
/// each text after its length.
pub(super) fn place(labels: &Labels) -> f64 {
    let mut bytes = Vec::new();
    for label in labels.iter() {
        push_text(&mut bytes, label.name);
        push_text(&mut bytes, label.value);
    }
    xxh64(&bytes, 0) as f64 / u64::MAX as f64
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    match text.len() {
        length if length < LONG => out.push(length as u8),
        length => {
            out.push(LONG as u8);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
    }
    out.extend_from_slice(text.as_bytes());
}
