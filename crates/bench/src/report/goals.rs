use super::column::with_interval;
use super::number::{significant, whole};
use super::table::Table;
use super::view::View;
use crate::goal::{Bound, Goal};
use crate::load::LoadFigures;
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
    let (measured, reached) = match &row.measured {
        Measured::Not { reason } => (format!("not measured: {reason}"), "not known"),
        Measured::Figures(figures) => reached(verdict(figures, &goal.bound)),
        Measured::Load(figures) => reached(load_verdict(figures, &goal.bound)),
    };
    let peer = goal.peer.clone().unwrap_or_else(|| "none".to_owned());
    vec![
        row.id.clone(),
        peer,
        bound(&goal.bound),
        measured,
        reached.to_owned(),
    ]
}

fn reached(verdict: Option<(String, bool)>) -> (String, &'static str) {
    match verdict {
        Some((text, true)) => (text, "yes"),
        Some((text, false)) => (text, "no"),
        None => (
            "not measured: the row has no such figure".to_owned(),
            "not known",
        ),
    }
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
fn verdict(figures: &Figures, bound: &Bound) -> Option<(String, bool)> {
    let (text, reached) = match bound {
        Bound::TimesFloor { floor, at_most } => {
            let ratio = figures.floor(floor)?.ratio;
            (with_interval(ratio), ratio.value <= *at_most)
        }
        Bound::ShareOfFloor { floor, at_least } => {
            let ratio = figures.floor(floor)?.ratio;
            // The reciprocal swaps the ends of the interval.
            let share = Interval {
                value: 1.0 / ratio.value,
                low: 1.0 / ratio.high,
                high: 1.0 / ratio.low,
            };
            (with_interval(share), share.value >= *at_least)
        }
        Bound::AllocationsAboveFloor { floor, at_most } => {
            let more = figures.allocations_per_op - figures.floor(floor)?.allocations_per_op;
            // Averages over ops are not whole numbers, so the comparison rounds.
            (format!("{} more", whole(more)), more.round() <= *at_most)
        }
        Bound::CallsPerSecond { at_least } => {
            let rate = figures.calls_per_second;
            (whole(rate) + " calls/s", rate >= *at_least)
        }
        Bound::MeanNs { at_most } => microseconds(figures.mean_ns.value, *at_most),
        Bound::P50Ns { at_most } => microseconds(figures.p50_ns as f64, *at_most),
        Bound::P99Ns { at_most } => microseconds(figures.p99_ns as f64, *at_most),
        Bound::PeakBytes { at_most } => {
            let peak = figures.peak_bytes as f64;
            (whole(peak / 1024.0) + " KB", peak <= *at_most)
        }
        Bound::ShareOfAllowed { .. } | Bound::FailedCalls { .. } => return None,
    };
    Some((text, reached))
}

/// The same as [`verdict`], for a load.
fn load_verdict(figures: &LoadFigures, bound: &Bound) -> Option<(String, bool)> {
    Some(match bound {
        Bound::CallsPerSecond { at_least } => {
            let rate = figures.calls_per_second();
            (whole(rate) + " calls/s", rate >= *at_least)
        }
        Bound::MeanNs { at_most } => microseconds(figures.latency().mean_ns, *at_most),
        Bound::P50Ns { at_most } => microseconds(figures.latency().p50_ns as f64, *at_most),
        Bound::P99Ns { at_most } => microseconds(figures.latency().p99_ns as f64, *at_most),
        Bound::ShareOfAllowed { at_least } => {
            let (rate, allowed) = (figures.calls_per_second(), figures.allowed_per_second?);
            let text = format!("{} of {} calls/s", whole(rate), whole(allowed));
            (text, rate >= at_least * allowed)
        }
        Bound::FailedCalls { at_most } => {
            let (failed, calls) = (figures.failed, figures.calls);
            let text = format!("{} of {}", whole(failed as f64), whole(calls as f64));
            (text, failed <= *at_most)
        }
        Bound::TimesFloor { .. }
        | Bound::ShareOfFloor { .. }
        | Bound::AllocationsAboveFloor { .. }
        | Bound::PeakBytes { .. } => return None,
    })
}

fn microseconds(ns: f64, at_most: f64) -> (String, bool) {
    (significant(ns / 1e3) + " µs", ns <= at_most)
}
