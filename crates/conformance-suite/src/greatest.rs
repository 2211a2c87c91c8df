use std::fmt::Debug;

/// The greatest values of the types of limits: `u32`, and `u64`, `usize` and the seconds of a duration.
const GREATEST: [&str; 2] = ["4294967295", "18446744073709551615"];

/// Asserts that every number and duration in this value, such as the settings of a store, is the greatest
/// of its type. So a test that sets all of them notices a new one.
///
/// # Panics
/// If one has another value.
pub fn assert_greatest(settings: &impl Debug) {
    let text = format!("{settings:#?}");
    for line in text.lines() {
        let value = line.rsplit(": ").next().unwrap_or(line).trim();
        let is_number = value.starts_with(|first: char| first.is_ascii_digit());
        let is_greatest = GREATEST.iter().any(|greatest| value.starts_with(greatest));
        assert!(!is_number || is_greatest, "not the greatest value: {line}");
    }
}
