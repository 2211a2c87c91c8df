//! Whether ratios to floors travel: the same rows in two runs, on one machine or on two.

use super::name;
use crate::result::{FloorFigures, Interval};
use crate::run::TargetRun;
use std::fmt;

/// The ratios of a row differ little if they differ by at most this share.
const LITTLE: f64 = 0.1;

/// How far the ratios to floors of two runs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Travel {
    /// Pairs of a row and a floor that both runs have.
    pub rows: usize,
    /// The difference of the median row, as a share: 0.03 if one ratio is 1.03 times the other.
    pub median: f64,
    /// The share of rows that differ by at most 10 %.
    pub within: f64,
    /// The share of rows whose 95 % intervals overlap.
    pub overlap: f64,
}

impl Travel {
    /// Compares two runs, which may come from two machines. `None` if no row has a floor in both.
    pub fn of_runs(before: &[TargetRun], after: &[TargetRun]) -> Option<Self> {
        let after = ratios(after);
        let pairs = ratios(before).into_iter().filter_map(|(row, before)| {
            let after = after.iter().find(|(other, _)| *other == row)?;
            Some((before, after.1))
        });
        let pairs: Vec<(Interval, Interval)> = pairs.collect();
        let mut differences: Vec<f64> = pairs
            .iter()
            .map(|(before, after)| (after.value / before.value).ln().abs().exp_m1())
            .collect();
        differences.sort_by(f64::total_cmp);
        let share = |count: usize| count as f64 / pairs.len() as f64;
        let overlapping = pairs
            .iter()
            .filter(|(before, after)| before.low <= after.high && after.low <= before.high);
        Some(Self {
            rows: pairs.len(),
            median: *differences.get(differences.len() / 2)?,
            within: share(differences.partition_point(|difference| *difference <= LITTLE)),
            overlap: share(overlapping.count()),
        })
    }
}

/// The ratio of each row to each of its floors, by their names.
fn ratios(targets: &[TargetRun]) -> Vec<(String, Interval)> {
    let mut ratios = Vec::new();
    for target in targets {
        for row in &target.rows {
            let floors = row.figures().map_or(&[][..], |figures| &figures.floors);
            let named = |floor: &FloorFigures| {
                let row = name(&target.target, row);
                (format!("{row} / {}", floor.name), floor.ratio)
            };
            ratios.extend(floors.iter().map(named));
        }
    }
    ratios
}

impl fmt::Display for Travel {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, within, overlap] =
            [self.median, self.within, self.overlap].map(|share| 100.0 * share);
        write!(
            text,
            "{} ratios to floors: the median one differs by {median:.1} % (reach 3), {within:.0} % of them \
             by at most 10 % (reach 90), and {overlap:.0} % of their intervals overlap (reach 95)",
            self.rows
        )
    }
}
