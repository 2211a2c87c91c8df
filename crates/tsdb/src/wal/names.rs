//! The names of the files.

/// What a file that isn't finished ends with.
pub(crate) const UNFINISHED: &str = ".tmp";

const SEGMENT: &str = "log-";
const SNAPSHOT: &str = "snapshot-";

pub(crate) fn segment(number: u64) -> String {
    format!("{SEGMENT}{number:016x}")
}

pub(crate) fn snapshot(number: u64) -> String {
    format!("{SNAPSHOT}{number:016x}")
}

/// The number of a segment's name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    number(name, SEGMENT)
}

/// The number of a snapshot's name.
pub(crate) fn snapshot_number(name: &str) -> Option<u64> {
    number(name, SNAPSHOT)
}

fn number(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    (digits.len() == 16)
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}
