//! Series and their values in the notation of Prometheus' tests.

use tsdb::promql::parse_selector;
use tsdb::{Db, Labels, STALE_MARKER, Sample};

/// Appends series, each written `name{label="value"} values`, with a value every `step` ms from 0.
pub(crate) fn append(db: &Db, step: i64, lines: &[&str]) {
    for line in lines {
        let (labels, values) = series(line);
        for (time, value) in points(values, 0, step) {
            db.append(&labels, Sample::new(time, value))
                .expect("the sample is accepted");
        }
    }
}

/// The labels at the start of a line, and the values after them. A number alone has no labels.
pub(crate) fn series(line: &str) -> (Labels, &str) {
    let braces = line.split_once('}').map(|(labels, _)| labels.len() + 1);
    let end = braces
        .or_else(|| line.find(char::is_whitespace))
        .unwrap_or(0);
    let (selector, values) = line.split_at(end);
    let mut labels = Labels::builder();
    // A selector without a condition would be an error.
    if !matches!(selector, "" | "{}") {
        let matchers = parse_selector(selector);
        for matcher in matchers.unwrap_or_else(|error| panic!("{selector}: {error}")) {
            labels.label(matcher.name(), matcher.value());
        }
    }
    (labels.build().expect("labels"), values)
}

/// The values with their times: `1`, `_`, `stale`, `1x3`, `1+2x3`, `1-2x3`, `_x3`.
pub(crate) fn points(values: &str, start: i64, step: i64) -> Vec<(i64, f64)> {
    let values = values.split_whitespace().flat_map(expand).enumerate();
    let timed = values.map(|(index, value)| Some((start + index as i64 * step, value?)));
    timed.flatten().collect()
}

fn expand(text: &str) -> Vec<Option<f64>> {
    let (text, count) = match text.rsplit_once('x') {
        Some((text, count)) => (text, count.parse().expect("a count")),
        None => (text, 0),
    };
    let number = |text: &str| match text {
        "stale" => STALE_MARKER,
        _ => text
            .parse()
            .unwrap_or_else(|_| panic!("{text} is no number")),
    };
    // The sign of an increment is neither that of the number nor that of its exponent.
    let mut signs = text
        .char_indices()
        .skip(1)
        .filter(|(_, char)| matches!(char, '+' | '-'));
    let sign = signs.find(|(index, _)| !text[..*index].ends_with(['e', 'E']));
    let (first, increment) = match sign {
        _ if text == "_" => return vec![None; count.max(1)],
        Some((index, _)) => (number(&text[..index]), number(&text[index..])),
        // Adding nothing would make a quiet NaN of a stale marker.
        None => return vec![Some(number(text)); count + 1],
    };
    // Added one by one, as Prometheus does: its answers depend on the rounding errors.
    let values = std::iter::successors(Some(first), |value| Some(value + increment));
    values.take(count + 1).map(Some).collect()
}
