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

/// Whether it is the name of a snapshot that isn't finished.
pub(crate) fn is_unfinished(name: &str) -> bool {
    let finished = name.strip_suffix(UNFINISHED);
    finished.and_then(snapshot_number).is_some()
}

fn number(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    // There are other ways to write a number.
    (format!("{number:016x}") == digits).then_some(number)
}
