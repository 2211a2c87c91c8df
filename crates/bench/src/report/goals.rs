use super::column::with_interval;
use super::number::{significant, whole};
use super::page::Section;
use super::table::Table;
use super::view::View;
use crate::goal::{Bound, Goal};
use crate::load::Latencies;
use crate::result::{Figures, Interval, Measured, RowResult};

/// Whether a goal is reached. An interval that holds the bound leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    Undecided,
    NotKnown,
}

impl Verdict {
    fn at_most(figure: Interval, bound: f64) -> Self {
        if figure.high <= bound {
            Self::Yes
        } else if figure.low > bound {
            Self::No
        } else {
            Self::Undecided
        }
    }

    fn at_least(figure: Interval, bound: f64) -> Self {
        if figure.low >= bound {
            Self::Yes
        } else if figure.high < bound {
            Self::No
        } else {
            Self::Undecided
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Undecided => "undecided",
            Self::NotKnown => "not known",
        }
    }
}

impl From<bool> for Verdict {
    fn from(is_reached: bool) -> Self {
        if is_reached { Self::Yes } else { Self::No }
    }
}

/// How many goals of the page are reached, those that are not, and all of them with bound, measured
/// figure and verdict. Nothing for a page without goals.
pub(super) fn goals(view: &View<'_>) -> Vec<Section> {
    let goals = view
        .rows()
        .flat_map(|row| row.declared.goals.iter().map(move |goal| (row, goal)));
    let judged: Vec<Judged> = goals.map(|(row, goal)| judge(view, row, goal)).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let count = |wanted| judged.iter().filter(|goal| goal.verdict == wanted).count();
    let mut text = format!(
        "**{} goals: {} reached, {} missed, {} undecided.** A goal is undecided if the 95 % interval of \
         its figure holds the bound.\n",
        judged.len(),
        count(Verdict::Yes),
        count(Verdict::No),
        count(Verdict::Undecided),
    );
    let lossless = judged.iter().filter(|goal| goal.is_lossless()).count();
    if lossless > 0 {
        text += &format!("No call failed in {lossless} loads, which are not listed.\n");
    }
    let missed = judged.iter().filter(|goal| goal.verdict == Verdict::No);
    let missed: String = missed
        .map(|goal| {
            let [row, _, bound, measured] = &goal.cells;
            format!("- Missed: {row}: {measured}; goal {bound}\n")
        })
        .collect();
    if !missed.is_empty() {
        text = format!("{text}\n{missed}");
    }
    let listed = judged.iter().filter(|goal| !goal.is_lossless());
    let rows = listed.map(|goal| {
        let verdict = goal.verdict.text().to_owned();
        [&goal.cells[..], &[verdict]].concat()
    });
    let headings = ["Row", "Peer", "To reach", "Measured", "Reached"];
    vec![
        Section::Text(text),
        Section::Table(Table::of_text(&headings, rows.collect())),
    ]
}

/// A goal with its verdict.
struct Judged<'a> {
    goal: &'a Goal,
    verdict: Verdict,
    /// The row, the peer, the bound and the measured figure.
    cells: [String; 4],
}

impl Judged<'_> {
    /// A load without a failed call is worth no line.
    fn is_lossless(&self) -> bool {
        self.verdict == Verdict::Yes && matches!(self.goal.bound, Bound::FailedCalls { at_most: 0 })
    }
}

fn judge<'a>(view: &View<'_>, row: &RowResult, goal: &'a Goal) -> Judged<'a> {
    let no_figure = || "not measured: the row has no such figure".to_owned();
    let (measured, verdict) = match (&row.measured, verdict(view, row, &goal.bound)) {
        (Measured::Not { reason }, _) => (format!("not measured: {reason}"), Verdict::NotKnown),
        (_, Some((text, verdict))) => (text, verdict),
        (_, None) => (no_figure(), Verdict::NotKnown),
    };
    let peer = goal.peer.clone().unwrap_or_else(|| "none".to_owned());
    Judged {
        goal,
        verdict,
        cells: [row.id.clone(), peer, bound(&goal.bound), measured],
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
        Bound::ShareOfRow { row, at_least } => format!("at least {at_least} of the rate of {row}"),
        Bound::TimesRow { row, at_most } => format!("p50 at most {at_most} × that of {row}"),
        Bound::ReadsPerCall { at_most } => format!("at most {at_most} reads a call"),
    }
}

/// The figure of the bound, and its verdict; `None` if the row lacks the figure.
fn verdict(view: &View<'_>, row: &RowResult, bound: &Bound) -> Option<(String, Verdict)> {
    let (figures, load) = (row.figures(), row.load());
    let rate = row.calls_per_second();
    let other = |id: &str| view.rows().find(|row| row.id == id);
    let time = |of_row: fn(&Figures) -> f64, of_load: fn(&Latencies) -> f64| {
        let time = figures.map(of_row);
        time.or_else(|| Some(of_load(load?.latency())))
    };
    let (text, reached) = match bound {
        Bound::TimesFloor { floor, at_most } => {
            let ratio = figures?.floor(floor)?.ratio;
            return Some((with_interval(ratio), Verdict::at_most(ratio, *at_most)));
        }
        Bound::ShareOfFloor { floor, at_least } => {
            let ratio = figures?.floor(floor)?.ratio;
            // The reciprocal swaps the ends of the interval.
            let share = Interval {
                value: 1.0 / ratio.value,
                low: 1.0 / ratio.high,
                high: 1.0 / ratio.low,
            };
            return Some((with_interval(share), Verdict::at_least(share, *at_least)));
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
        Bound::P50Ns { at_most } => microseconds(row.p50_ns()? as f64, *at_most),
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
        Bound::ShareOfRow { row: id, at_least } => {
            let share = share_of(row, other(id)?)?;
            (significant(share), share >= *at_least)
        }
        Bound::TimesRow { row: id, at_most } => {
            let times = row.p50_ns()? as f64 / other(id)?.p50_ns()? as f64;
            (significant(times), times <= *at_most)
        }
        Bound::ReadsPerCall { at_most } => {
            let reads = load?.cost?.reads;
            (format!("{} reads", significant(reads)), reads <= *at_most)
        }
    };
    Some((text, reached.into()))
}

/// The rate of a row in events, as a share of another row's.
fn share_of(row: &RowResult, other: &RowResult) -> Option<f64> {
    Some(row.events_per_second()? / other.events_per_second()?)
}

/// The share of a row that a goal compares with another one; `None` without such a goal.
pub(super) fn share_of_other_row(view: &View<'_>, row: &RowResult) -> Option<f64> {
    let mut goals = row.declared.goals.iter();
    let id = goals.find_map(|goal| match &goal.bound {
        Bound::ShareOfRow { row, .. } => Some(row),
        _ => None,
    })?;
    share_of(row, view.rows().find(|other| other.id == *id)?)
}

fn microseconds(ns: f64, at_most: f64) -> (String, bool) {
    (significant(ns / 1e3) + " µs", ns <= at_most)
}
