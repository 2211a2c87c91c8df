use std::collections::{HashMap, VecDeque};

use crate::{Labels, Sample};

/// A forwarder's queue has no space for the samples. No sample was queued. Try again later, or
/// drop them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue has {queued} samples, {max} are allowed")]
pub struct QueueFull {
    /// The limit.
    pub max: usize,
    /// The number of samples in the queue.
    pub queued: usize,
}

/// Samples to be sent, in order.
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

    /// Queues all of the samples or none.
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

    /// Up to `max` samples from the front, by series. They stay in the queue until they are
    /// removed.
    pub(super) fn front(&self, max: usize) -> Vec<(Labels, Vec<Sample>)> {
        by_series(self.samples.iter().take(max))
    }

    /// Removes the first `count` samples.
    pub(super) fn remove_front(&mut self, count: usize) {
        self.samples.drain(..count);
    }
}

/// Groups samples by series, in the order of arrival.
pub(super) fn by_series<'a>(
    samples: impl Iterator<Item = &'a (Labels, Sample)>,
) -> Vec<(Labels, Vec<Sample>)> {
    let mut indexes: HashMap<&Labels, usize> = HashMap::new();
    let mut series: Vec<(Labels, Vec<Sample>)> = Vec::new();
    for (labels, sample) in samples {
        // A request names each series once, however its samples are interleaved.
        let index = *indexes.entry(labels).or_insert(series.len());
        if index == series.len() {
            series.push((labels.clone(), Vec::new()));
        }
        series[index].1.push(*sample);
    }
    series
}
