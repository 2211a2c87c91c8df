//! Differences of counters, which fall only when they are reset, and of gauges.

use super::Window;

/// The limit for the gap between an end of the range and the nearest sample, in average sample
/// distances. If the gap is shorter, the next sample is assumed to be just outside the range.
/// Otherwise the series is assumed to begin or end inside the range.
const GAP: f64 = 1.1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// The increase per second of a counter.
pub(super) fn rate(window: &Window<'_>) -> Option<f64> {
    let (difference, stretch) = extrapolated(window, Kind::Counter)?;
    // Prometheus calculates in this order too. Another order can change the last digit.
    Some(difference * (stretch / seconds(window.start, window.end)))
}

/// The increase of a counter over the range.
pub(super) fn increase(window: &Window<'_>) -> Option<f64> {
    let (difference, stretch) = extrapolated(window, Kind::Counter)?;
    Some(difference * stretch)
}

/// The difference of a gauge over the range.
pub(super) fn delta(window: &Window<'_>) -> Option<f64> {
    let (difference, stretch) = extrapolated(window, Kind::Gauge)?;
    Some(difference * stretch)
}

/// The difference between the first and the last sample, and the factor that extrapolates it. On
/// each side, it extends the difference to the end of the range if a sample is near, otherwise by
/// half the average sample distance.
fn extrapolated(window: &Window<'_>, kind: Kind) -> Option<(f64, f64)> {
    let (first, last) = (*window.values.first()?, *window.values.last()?);
    let (first_time, last_time) = (*window.timestamps.first()?, *window.timestamps.last()?);
    let sampled = seconds(first_time, last_time);
    // One sample, or several at one time, have no rate.
    if sampled <= 0.0 {
        return None;
    }
    let mut difference = last - first;
    if kind == Kind::Counter {
        // Resets lose the values before them. Prometheus adds them in this order too.
        difference = window
            .before_falls()
            .fold(difference, |sum, lost| sum + lost);
    }
    let distance = sampled / (window.values.len() - 1) as f64;
    let stretch = |gap: f64| {
        if gap >= distance * GAP {
            distance / 2.0
        } else {
            gap
        }
    };
    let mut before = stretch(seconds(window.start, first_time));
    let after = stretch(seconds(last_time, window.end));
    // A counter starts at zero, so the extrapolation stops at the time at which it would be zero.
    if kind == Kind::Counter && difference > 0.0 && first >= 0.0 {
        before = before.min(sampled * (first / difference));
    }
    Some((difference, (sampled + before + after) / sampled))
}

/// The increase per second between the last two samples of a counter.
pub(super) fn instant_rate(window: &Window<'_>) -> Option<f64> {
    let ((earlier, before), (later, after)) = last_two(window)?;
    let elapsed = seconds(earlier, later);
    // After a reset the counter has grown from 0.
    let increase = if after < before {
        after
    } else {
        after - before
    };
    (elapsed > 0.0).then(|| increase / elapsed)
}

/// The difference between the last two samples.
pub(super) fn instant_delta(window: &Window<'_>) -> Option<f64> {
    let ((earlier, before), (later, after)) = last_two(window)?;
    (later > earlier).then_some(after - before)
}

/// How many times the value falls.
pub(super) fn resets(window: &Window<'_>) -> f64 {
    window.before_falls().len() as f64
}

/// How many times the value changes; NaN after NaN is not a change.
pub(super) fn changes(window: &Window<'_>) -> f64 {
    let differ = |pair: &&[f64]| pair[0] != pair[1] && !(pair[0].is_nan() && pair[1].is_nan());
    window.values.windows(2).filter(differ).count() as f64
}

type Pair = ((i64, f64), (i64, f64));

fn last_two(window: &Window<'_>) -> Option<Pair> {
    let [.., earlier, later] = *window.timestamps else {
        return None;
    };
    let [.., before, after] = *window.values else {
        return None;
    };
    Some(((earlier, before), (later, after)))
}

pub(super) fn seconds(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64 / 1000.0
}
