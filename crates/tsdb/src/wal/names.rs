//! File names.

/// The suffix of an unfinished file.
pub(crate) const UNFINISHED: &str = ".tmp";

const SEGMENT: &str = "log-";
const SNAPSHOT: &str = "snapshot-";

pub(crate) fn segment(number: u64) -> String {
    format!("{SEGMENT}{number:016x}")
}

pub(crate) fn snapshot(number: u64) -> String {
    format!("{SNAPSHOT}{number:016x}")
}

/// Parses the name of a segment.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    number(name, SEGMENT)
}

/// Parses the name of a snapshot.
pub(crate) fn snapshot_number(name: &str) -> Option<u64> {
    number(name, SNAPSHOT)
}

/// Returns `true` for the name of an unfinished snapshot.
pub(crate) fn is_unfinished(name: &str) -> bool {
    let finished = name.strip_suffix(UNFINISHED);
    finished.and_then(snapshot_number).is_some()
}

fn number(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    // `from_str_radix` also accepts upper case, a sign and other lengths, which no log file has.
    (format!("{number:016x}") == digits).then_some(number)
}
