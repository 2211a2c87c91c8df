use std::collections::{HashMap, VecDeque};

use crate::{Labels, Sample};

/// A forwarder's queue has no room for the samples; none of them was taken. Try again later, or
/// give them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{queued} samples are queued, {max} may be")]
pub struct QueueFull {
    /// The limit.
    pub max: usize,
    /// How many were queued.
    pub queued: usize,
}

/// Samples on their way out, in order.
pub(super) struct Queue {
    max: usize,
    samples: VecDeque<(Labels, Sample)>,
}

impl Queue {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            samples: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Takes all of the samples or none.
    pub(super) fn push(&mut self, labels: &Labels, samples: &[Sample]) -> Result<(), QueueFull> {
        if samples.len() > self.max - self.samples.len() {
            return Err(QueueFull {
                max: self.max,
                queued: self.samples.len(),
            });
        }
        self.samples
            .extend(samples.iter().map(|sample| (labels.clone(), *sample)));
        Ok(())
    }

    /// Up to so many samples, by series. They stay counted as queued until they are removed.
    pub(super) fn front(&self, max: usize) -> Vec<(Labels, Vec<Sample>)> {
        let mut places: HashMap<&Labels, usize> = HashMap::new();
        let mut series: Vec<(Labels, Vec<Sample>)> = Vec::new();
        for (labels, sample) in self.samples.iter().take(max) {
            let place = *places.entry(labels).or_insert(series.len());
            if place == series.len() {
                series.push((labels.clone(), Vec::new()));
            }
            series[place].1.push(*sample);
        }
        series
    }

    /// Removes the first samples.
    pub(super) fn remove_front(&mut self, count: usize) {
        self.samples.drain(..count);
    }
}
