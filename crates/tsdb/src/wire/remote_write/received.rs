use crate::wire::{Fault, Ingested};
use crate::{Exemplar, Exemplars, Labels, LabelsBuilder, Sample};

/// The fault of a native histogram.
pub(super) const NATIVE_HISTOGRAM: &str = "native histograms are not stored";

/// The outcome of a request.
#[derive(Clone, Debug, Default)]
#[must_use = "samples may have been refused"]
pub struct Received {
    /// The samples. Indexes count samples and native histograms from zero through the whole
    /// request; a refused exemplar has the index after the last of them.
    pub ingested: Ingested,
    /// The number of exemplars that were stored.
    pub exemplars: usize,
    /// The number of native histograms, which were all refused.
    pub histograms: usize,
    /// The number of samples and native histograms.
    pub(super) samples: usize,
}

impl Received {
    /// Adds the outcome of a later part of the same request.
    pub(super) fn extend(&mut self, mut later: Self) {
        for error in &mut later.ingested.errors {
            error.index += self.samples;
        }
        self.ingested.extend(later.ingested);
        self.exemplars += later.exemplars;
        self.histograms += later.histograms;
        self.samples += later.samples;
    }
}

/// Stores an exemplar with the labels that are in the builder.
pub(super) fn store_exemplar(
    exemplars: &Exemplars,
    series: &Labels,
    labels: &mut LabelsBuilder,
    sample: Sample,
) -> Result<(), Fault> {
    let labels = labels.build()?;
    match exemplars.add(series.clone(), Exemplar { labels, sample }) {
        true => Ok(()),
        false => Err(Fault::form("the exemplar is too large")),
    }
}
