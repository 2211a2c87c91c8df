use super::column::with_interval;
use super::number::{significant, whole};
use super::table::Table;
use super::view::View;
use crate::goal::{Bound, Goal};
use crate::load::Latencies;
use crate::result::{Figures, Interval, Measured, RowResult};

/// The goals of all rows: bound, measured figure and verdict.
pub(super) fn goals_table(view: &View<'_>) -> Table {
    let goals = view
        .rows()
        .flat_map(|row| row.declared.goals.iter().map(move |goal| (row, goal)));
    let rows = goals.map(|(row, goal)| cells(row, goal)).collect();
    Table::of_text(&["Row", "Peer", "To reach", "Measured", "Reached"], rows)
}

fn cells(row: &RowResult, goal: &Goal) -> Vec<String> {
    let no_figure = || "not measured: the row has no such figure".to_owned();
    let (measured, reached) = match (&row.measured, verdict(row, &goal.bound)) {
        (Measured::Not { reason }, _) => (format!("not measured: {reason}"), "not known"),
        (_, Some((text, true))) => (text, "yes"),
        (_, Some((text, false))) => (text, "no"),
        (_, None) => (no_figure(), "not known"),
    };
    let peer = goal.peer.clone().unwrap_or_else(|| "none".to_owned());
    let bound = bound(&goal.bound);
    vec![row.id.clone(), peer, bound, measured, reached.to_owned()]
}

fn bound(bound: &Bound) -> String {
    match bound {
        Bound::TimesFloor { floor, at_most } => format!("at most {at_most} × {floor}"),
        Bound::ShareOfFloor { floor, at_least } => {
            format!("at least {at_least} of the rate of {floor}")
        }
        Bound::AllocationsAboveFloor { floor, at_most } => {
            format!("at most {} allocations more than {floor}", whole(*at_most))
        }
        Bound::CallsPerSecond { at_least } => format!("at least {} calls/s", whole(*at_least)),
        Bound::MeanNs { at_most } => format!("mean at most {} µs", significant(at_most / 1e3)),
        Bound::P50Ns { at_most } => format!("p50 at most {} µs", significant(at_most / 1e3)),
        Bound::P99Ns { at_most } => format!("p99 at most {} µs", significant(at_most / 1e3)),
        Bound::PeakBytes { at_most } => format!("at most {} KB in use", whole(at_most / 1024.0)),
        Bound::ShareOfAllowed { at_least } => {
            format!("at least {at_least} of the calls/s that the schedule allows")
        }
        Bound::FailedCalls { at_most } => format!("at most {at_most} failed calls"),
    }
}

/// The figure of the bound, and whether the bound holds; `None` if the row lacks the figure.
fn verdict(row: &RowResult, bound: &Bound) -> Option<(String, bool)> {
    let (figures, load) = (row.figures(), row.load());
    let rate = figures.map(|figures| figures.calls_per_second);
    let rate = rate.or_else(|| Some(load?.calls_per_second()));
    let time = |of_row: fn(&Figures) -> f64, of_load: fn(&Latencies) -> f64| {
        let time = figures.map(of_row);
        time.or_else(|| Some(of_load(load?.latency())))
    };
    let (text, reached) = match bound {
        Bound::TimesFloor { floor, at_most } => {
            let ratio = figures?.floor(floor)?.ratio;
            (with_interval(ratio), ratio.value <= *at_most)
        }
        Bound::ShareOfFloor { floor, at_least } => {
            let ratio = figures?.floor(floor)?.ratio;
            // The reciprocal swaps the ends of the interval.
            let share = Interval {
                value: 1.0 / ratio.value,
                low: 1.0 / ratio.high,
                high: 1.0 / ratio.low,
            };
            (with_interval(share), share.value >= *at_least)
        }
        Bound::AllocationsAboveFloor { floor, at_most } => {
            let more = figures?.allocations_per_op - figures?.floor(floor)?.allocations_per_op;
            // Averages over ops are not whole numbers, so the comparison rounds.
            (format!("{} more", whole(more)), more.round() <= *at_most)
        }
        Bound::CallsPerSecond { at_least } => (whole(rate?) + " calls/s", rate? >= *at_least),
        Bound::MeanNs { at_most } => {
            let mean = time(|row| row.mean_ns.value, |load| load.mean_ns)?;
            microseconds(mean, *at_most)
        }
        Bound::P50Ns { at_most } => {
            let p50 = time(|row| row.p50_ns as f64, |load| load.p50_ns as f64)?;
            microseconds(p50, *at_most)
        }
        Bound::P99Ns { at_most } => {
            let p99 = time(|row| row.p99_ns as f64, |load| load.p99_ns as f64)?;
            microseconds(p99, *at_most)
        }
        Bound::PeakBytes { at_most } => {
            let peak = figures?.peak_bytes as f64;
            (whole(peak / 1024.0) + " KB", peak <= *at_most)
        }
        Bound::ShareOfAllowed { at_least } => {
            let (rate, allowed) = (rate?, load?.allowed_per_second?);
            let text = format!("{} of {} calls/s", whole(rate), whole(allowed));
            (text, rate >= at_least * allowed)
        }
        Bound::FailedCalls { at_most } => {
            let (failed, calls) = (load?.failed, load?.calls);
            let text = format!("{} of {}", whole(failed as f64), whole(calls as f64));
            (text, failed <= *at_most)
        }
    };
    Some((text, reached))
}

fn microseconds(ns: f64, at_most: f64) -> (String, bool) {
    (significant(ns / 1e3) + " µs", ns <= at_most)
}
