use super::message::described;
use super::message_v2::{SeriesMessage, Symbols, read_exemplar, read_series};
use super::protobuf::Truncated;
use super::receive::{PART_BYTES, parts};
use super::received::{NATIVE_HISTOGRAM, Received, store_exemplar};
use crate::wire::Fault;
use crate::wire::points::Points;
use crate::{Batch, Db, Exemplars, Labels, LabelsBuilder, LabelsRef, Metadata, MetricKind, Sample};

/// Writes a decompressed request of version 2.
///
/// The request is read twice. The first pass collects the samples, and checks the whole request.
/// The second pass stores each metadata entry and each exemplar as soon as it is read, because a
/// list of them could take many times the memory of the message.
pub(super) fn write(db: &Db, exemplars: &Exemplars, message: &[u8]) -> Result<Received, Truncated> {
    let symbols = Symbols::read(message)?;
    if message.len() > PART_BYTES {
        check(message, &symbols)?;
    }
    let mut received = Received::default();
    for part in parts(message) {
        received.extend(write_part(db, exemplars, part?, &symbols)?);
    }
    Ok(received)
}

/// Checks a request without keeping anything of it.
fn check(message: &[u8], symbols: &Symbols<'_>) -> Result<(), Truncated> {
    let (mut series, mut labels) = (SeriesMessage::default(), LabelsBuilder::default());
    read_series(message, |part| {
        series.read(part, symbols)?;
        labels.clear();
        symbols.labels(&series.labels, &mut labels)?;
        for exemplar in &series.exemplars {
            labels.clear();
            read_exemplar(exemplar, symbols, &mut labels)?;
        }
        Ok(())
    })
}

fn write_part<'m>(
    db: &Db,
    exemplars: &Exemplars,
    message: &'m [u8],
    symbols: &Symbols<'m>,
) -> Result<Received, Truncated> {
    let mut receiver = Receiver::new(db, symbols);
    let mut series = SeriesMessage::default();
    read_series(message, |part| {
        series.read(part, symbols)?;
        receiver.series(&series)
    })?;
    let mut stored = 0;
    if receiver.has_annotations {
        read_series(message, |part| {
            series.read(part, symbols)?;
            stored += receiver.annotations(&series, exemplars)?;
            Ok(())
        })?;
    }
    // Refused zeros are no loss: the samples after them are the data.
    let _ = db.write(&mut receiver.zeros);
    Ok(Received {
        samples: receiver.points.seen(),
        ingested: receiver.points.write(db),
        exemplars: stored,
        histograms: receiver.histograms,
    })
}

/// Collects the series of a request.
struct Receiver<'m> {
    db: &'m Db,
    symbols: &'m Symbols<'m>,
    points: Points,
    /// A zero at the time at which a counter began, so that its first sample counts as an increase.
    zeros: Batch,
    /// Whether a series has metadata or exemplars.
    has_annotations: bool,
    histograms: usize,
    /// The metric whose metadata was read last. Each series of a metric repeats it.
    described: String,
    /// A buffer, kept between series.
    labels: LabelsBuilder,
}

impl<'m> Receiver<'m> {
    fn new(db: &'m Db, symbols: &'m Symbols<'m>) -> Self {
        Self {
            db,
            symbols,
            points: Points::within(db),
            zeros: Batch::new(),
            has_annotations: false,
            histograms: 0,
            described: String::new(),
            labels: LabelsBuilder::default(),
        }
    }

    /// Adds the samples of a series, and checks the rest of it.
    fn series(&mut self, series: &SeriesMessage<'_>) -> Result<(), Truncated> {
        self.has_annotations |= !series.metadata.is_empty() || !series.exemplars.is_empty();
        for exemplar in &series.exemplars {
            self.labels.clear();
            read_exemplar(exemplar, self.symbols, &mut self.labels)?;
        }
        self.labels.clear();
        self.symbols.labels(&series.labels, &mut self.labels)?;
        match self.labels.build_ref() {
            Ok(labels) => {
                push_zeros(self.db, labels, series, &mut self.zeros);
                self.points.push_series(labels, None, &series.samples);
            }
            Err(error) => {
                // Refuses each sample, because indexes count samples.
                let refuse = |_| self.points.refuse(error.clone().into());
                series.samples.iter().for_each(refuse);
            }
        }
        self.histograms += series.histograms;
        for _ in 0..series.histograms {
            self.points.refuse(Fault::form(NATIVE_HISTOGRAM));
        }
        Ok(())
    }

    /// Stores the metadata and the exemplars of a series. Returns the number of stored exemplars.
    fn annotations(
        &mut self,
        series: &SeriesMessage<'_>,
        exemplars: &Exemplars,
    ) -> Result<usize, Truncated> {
        self.labels.clear();
        self.symbols.labels(&series.labels, &mut self.labels)?;
        // A series whose labels are wrong was refused before.
        let labels = self.labels.build().unwrap_or_default();
        if labels.metric().is_empty() {
            return Ok(0);
        }
        if !series.metadata.is_empty() {
            self.metadata(series, &labels);
        }
        let mut stored = 0;
        for exemplar in &series.exemplars {
            self.labels.clear();
            let sample = read_exemplar(exemplar, self.symbols, &mut self.labels)?;
            match store_exemplar(exemplars, &labels, &mut self.labels, sample) {
                Ok(()) => stored += 1,
                Err(fault) => self.points.refuse(fault),
            }
        }
        Ok(stored)
    }

    /// Sets the metadata of a metric if it has changed.
    fn metadata(&mut self, series: &SeriesMessage<'_>, labels: &Labels) {
        let new = &series.metadata;
        let metric = described(labels.metric(), new.kind);
        if self.described == metric {
            return;
        }
        metric.clone_into(&mut self.described);
        let new = Metadata {
            kind: new.kind,
            help: new.help.to_owned(),
        };
        if self.db.metadata(metric).unwrap_or_default() != new {
            self.db
                .set_metadata(metric, new)
                .unwrap_or_else(|error| self.points.refuse(error.into()));
        }
    }
}

/// Adds a zero for each time at which the series began, if it is after all samples that the
/// database has of the series.
fn push_zeros(db: &Db, labels: LabelsRef<'_>, series: &SeriesMessage<'_>, zeros: &mut Batch) {
    if series.starts_ms.is_empty() || !counts_from_zero(labels, series.metadata.kind) {
        return;
    }
    let newest_ms = db.newest_ms(labels).unwrap_or(i64::MIN);
    for start_ms in &series.starts_ms {
        if *start_ms > newest_ms {
            zeros.push_ref(labels, Sample::new(*start_ms, 0.0));
        }
    }
}

/// Whether a series is a counter or a part of one. The quantiles of a summary are not, and a series
/// of unknown kind may be anything.
fn counts_from_zero(labels: LabelsRef<'_>, kind: MetricKind) -> bool {
    match kind {
        MetricKind::Counter | MetricKind::Histogram => true,
        MetricKind::Summary => labels.iter().all(|label| label.name != "quantile"),
        _ => false,
    }
}
