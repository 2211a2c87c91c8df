//! One row: the peers of a ground take turns.

use super::form::Form;
use super::measure::{Figures, RowFigures};
use super::plan::RowPlan;
use super::roster::Ground;
use super::running::Running;
use crate::measure::median;
use crate::result::Interval;
use peer_protocol::{Answer, Latencies, Run};
use std::time::Instant;

/// The turns of one peer in one row.
struct Turns {
    rates: Vec<f64>,
    sum: Figures,
    failed: Option<String>,
}

/// Lets the peers take turns, in an order that moves by one from round to round. Ratios compare with the
/// peer that has the key `ours`.
pub(super) fn row(
    ground: Ground,
    plan: RowPlan,
    form: Form,
    running: &mut [Running],
    ours: Option<&str>,
) -> RowFigures {
    let began = Instant::now();
    let run = Run {
        operation: plan.operation,
        callers: plan.callers,
        seconds: match plan.is_sustained {
            true => form.sustained_seconds(),
            false => form.seconds(),
        },
        limit: plan.limit,
    };
    let rounds = if plan.is_sustained { 1 } else { form.rounds() };
    let mut turns: Vec<Turns> = running.iter().map(|_| Turns::default()).collect();
    for round in 0..rounds {
        for turn in 0..running.len() {
            let index = (round + turn) % running.len();
            let answer = running[index].session.run(&run);
            turns[index].take(answer, plan.is_sustained);
        }
    }
    let ours = running.iter().position(|peer| Some(&*peer.key) == ours);
    let ours = ours.filter(|index| turns[*index].failed.is_none());
    let ours = ours.map_or_else(Vec::new, |index| turns[index].rates.clone());
    let peers = running.iter().zip(turns);
    RowFigures {
        ground,
        plan,
        seconds: began.elapsed().as_secs_f64(),
        peers: peers
            .map(|(peer, turns)| (peer.key.clone(), turns.figures(&ours)))
            .collect(),
        left_out: Vec::new(),
    }
}

impl Default for Turns {
    fn default() -> Self {
        let none = Interval {
            value: 0.0,
            low: 0.0,
            high: 0.0,
        };
        Self {
            rates: Vec::new(),
            sum: Figures {
                rate: none,
                ratio: None,
                latencies: Latencies::default(),
                conflicts: 0,
                wrong: 0,
                worst_second: None,
            },
            failed: None,
        }
    }
}

impl Turns {
    fn take(&mut self, answer: Result<Answer, String>, is_sustained: bool) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => return self.fail(reason),
        };
        if let Some(failure) = answer.failure {
            self.fail(failure);
        }
        // No call of a row is meant to conflict, so one that does has done nothing.
        let done = answer.calls - answer.conflicts;
        if is_sustained {
            // Callers end within the last second, so it is not whole.
            let mut seconds = answer.by_second;
            seconds.resize(answer.seconds as usize, 0);
            self.rates.extend(seconds.iter().map(|calls| *calls as f64));
            self.sum.worst_second = seconds.into_iter().min();
        } else {
            self.rates.push(done as f64 / answer.seconds);
        }
        self.sum.latencies.add(&answer.latencies);
        self.sum.conflicts += answer.conflicts;
        self.sum.wrong += answer.wrong;
    }

    fn fail(&mut self, reason: String) {
        self.failed.get_or_insert(reason);
    }

    fn figures(mut self, ours: &[f64]) -> Result<Figures, String> {
        if let Some(reason) = self.failed {
            return Err(reason);
        }
        self.sum.rate = median(&self.rates);
        let ratios: Vec<f64> = self
            .rates
            .iter()
            .zip(ours)
            .map(|(rate, ours)| rate / ours)
            .collect();
        self.sum.ratio = (!ratios.is_empty()).then(|| median(&ratios));
        Ok(self.sum)
    }
}
