//! Functions of ranges with `anchored` or `smoothed`. Their windows may begin with one sample before the range, and
//! `smoothed` ones may end with one after it.

use super::Window;
use super::counter::{Kind, changes, resets, seconds};
use super::window_function::WindowFunction;

/// The function of this name on an anchored range.
pub(crate) fn anchored_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "rate" => |window, _| Some(per_second(window, difference(window, ends, Kind::Counter))),
        "increase" => |window, _| Some(difference(window, ends, Kind::Counter)),
        "delta" => |window, _| Some(difference(window, ends, Kind::Gauge)),
        "resets" => |window, _| Some(resets(window)),
        "changes" => |window, _| Some(changes(window)),
        _ => return None,
    })
}

/// The function of this name on a smoothed range.
pub(crate) fn smoothed_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "rate" => |window, _| {
            let increase = difference(window, smoothed_ends, Kind::Counter);
            Some(per_second(window, increase))
        },
        "increase" => |window, _| Some(difference(window, smoothed_ends, Kind::Counter)),
        "delta" => |window, _| Some(difference(window, smoothed_ends, Kind::Gauge)),
        _ => return None,
    })
}

/// The samples of an anchored or smoothed range as an answer: its ends, and what lies between them.
pub(crate) fn samples(window: &Window<'_>, smoothed: bool) -> Vec<(i64, f64)> {
    let (first, last) = match smoothed {
        true => smoothed_ends(window, Kind::Gauge),
        false => ends(window, Kind::Gauge),
    };
    let between = inside(window).map(|(time, value)| (*time, *value));
    let start = std::iter::once((window.start, first));
    start.chain(between).chain([(window.end, last)]).collect()
}

/// The value at a time between two samples, on the straight line through them.
pub(crate) fn interpolated(before: (i64, f64), after: (i64, f64), time: i64) -> f64 {
    let share = time.saturating_sub(before.0) as f64;
    before.1 + (after.1 - before.1) * share / after.0.saturating_sub(before.0) as f64
}

fn per_second(window: &Window<'_>, difference: f64) -> f64 {
    difference / seconds(window.start, window.end)
}

/// The values at both ends of a range.
type Ends = fn(&Window<'_>, Kind) -> (f64, f64);

fn difference(window: &Window<'_>, ends: Ends, kind: Kind) -> f64 {
    let (first, last) = ends(window, kind);
    if kind == Kind::Gauge {
        return last - first;
    }
    let (mut increase, mut before) = (last - first, first);
    for value in inside(window).map(|(_, value)| *value).chain([last]) {
        if value < before {
            increase += before;
        }
        before = value;
    }
    increase
}

/// The first and the last value.
fn ends(window: &Window<'_>, _: Kind) -> (f64, f64) {
    let last = window.values.len() - 1;
    (window.values[0], window.values[last])
}

/// The values at both ends, interpolated where there is a sample on the other side.
fn smoothed_ends(window: &Window<'_>, kind: Kind) -> (f64, f64) {
    let at = |index: usize| (window.timestamps[index], window.values[index]);
    let between = |index: usize, time| {
        let (mut before, after) = (at(index), at(index + 1));
        // A counter that was reset has grown from 0.
        if kind == Kind::Counter && after.1 < before.1 {
            before.1 = 0.0;
        }
        interpolated(before, after, time)
    };
    let (mut first, mut last) = ends(window, kind);
    let end = window.values.len() - 1;
    if end > 0 && at(0).0 < window.start {
        first = between(0, window.start);
    }
    if end > 0 && at(end).0 > window.end {
        last = between(end - 1, window.end);
    }
    (first, last)
}

/// The samples between the ends of the range, without those at an end.
fn inside<'a>(window: &Window<'a>) -> impl Iterator<Item = (&'a i64, &'a f64)> + use<'a> {
    let (start, end) = (window.start, window.end);
    let samples = window.timestamps.iter().zip(window.values);
    samples.filter(move |(time, _)| **time > start && **time < end)
}
