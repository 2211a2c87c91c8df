use super::attributes::{LabelMap, text};
use super::delta::Totals;
use super::message::{Exemplar as ExemplarMessage, KeyValue};
use super::metric::{Point, Translated, milliseconds, translate};
use super::parts::Part;
use super::request::{self, Item};
use super::resource::{self, TARGET_INFO};
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};
use crate::{
    Db, Exemplar, Exemplars, LabelError, Labels, LabelsBuilder, METRIC_NAME, Metadata, MetricKind,
    Sample,
};

/// The parts of a body up to this size are kept while the rest is read. A larger body is read twice.
const SMALL_BODY: usize = 256 << 10;
/// The distance between samples of `target_info` in a request that covers a longer time. Queries
/// look back twice as far.
const INFO_STEP_MS: usize = 150_000;
/// Maximum number of samples of `target_info` for a resource in one request.
const MAX_INFO: usize = 1000;
/// The fault of an increase that is not newer than the total.
const COUNTED: &str = "the series has a point of this time or a later one: the increase was counted \
                       before, or comes too late";
/// The labels of an exemplar that come from its ids.
const IDS: [&str; 2] = ["trace_id", "span_id"];

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Protocol buffers: `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// A body that is not a metrics request. Nothing was written, and the sender must not retry. Correct
/// the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not a metrics request: {reason}")]
pub struct Malformed {
    /// The parser's message.
    pub reason: String,
}

impl Malformed {
    pub(super) fn of(reason: &impl ToString) -> Self {
        Self {
            reason: reason.to_string(),
        }
    }
}

/// Writes the data points of a request, with the metadata and the exemplars of its metrics.
///
/// [`Ingested`] counts samples; a histogram or a summary has several. Its indexes count data points
/// from zero through the whole request; see [`refused_points`].
///
/// # Errors
/// [`Malformed`]: the body is not a metrics request. Nothing was written.
pub fn write(
    db: &Db,
    exemplars: &Exemplars,
    encoding: Encoding,
    body: &[u8],
) -> Result<Ingested, Malformed> {
    let request = Part::of(encoding, body)?;
    let mut writer = Writer {
        db,
        exemplars,
        points: Points::within(db),
        written: Ingested::default(),
        next: 0,
        builder: LabelsBuilder::default(),
        source: Source::default(),
        metric: Err(String::new()),
        totals: None,
    };
    if body.len() <= SMALL_BODY {
        let mut items = Vec::new();
        request::read(request, &mut |item| items.push(item))?;
        items.into_iter().for_each(|item| writer.item(item));
    } else {
        request::read(request, &mut drop)?;
        request::read(request, &mut |item| writer.item(item))?;
    }
    writer.flush();
    Ok(writer.written)
}

/// The number of data points with a refused sample.
pub fn refused_points(ingested: &Ingested) -> usize {
    let mut indexes: Vec<usize> = ingested.errors.iter().map(|error| error.index).collect();
    indexes.dedup();
    // Each refused sample that is not listed counts as one more point.
    indexes.len() + ingested.refused - ingested.errors.len()
}

/// Translates the points of a request and collects their samples.
struct Writer<'a> {
    db: &'a Db,
    exemplars: &'a Exemplars,
    points: Points,
    /// The outcome of earlier parts of the body.
    written: Ingested,
    /// The index of the next data point.
    next: usize,
    builder: LabelsBuilder,
    source: Source,
    /// The metric of the next points, or the reason why they are refused.
    metric: Result<Translated, String>,
    /// The totals of metrics with increases, from the first such metric on.
    totals: Option<Totals>,
}

/// The labels and the times that the points of a resource share.
#[derive(Default)]
struct Source {
    identity: Vec<(&'static str, String)>,
    attributes: Vec<KeyValue>,
    /// The times of the oldest and the newest point.
    range_ms: Option<(i64, i64)>,
}

impl Writer<'_> {
    fn item(&mut self, item: Item) {
        match item {
            Item::Resource(resource) => {
                self.source = Source {
                    identity: resource::identity(&resource.attributes),
                    attributes: resource.attributes,
                    range_ms: None,
                };
            }
            Item::Metric(head, data, of_data) => {
                self.metric = translate(&head, data, of_data);
                self.describe(&head.description);
            }
            Item::Number(point) => self.point(&Point::of_number(&point)),
            Item::Histogram(point) => self.point(&Point::of_histogram(&point)),
            Item::Exponential(point) => self.point(&Point::of_exponential(&point)),
            Item::Summary(point) => self.point(&Point::of_summary(&point)),
            Item::Unread => {
                let reason = self.metric.as_ref().err().cloned();
                self.refuse(Fault::form(reason.unwrap_or_default()));
            }
            Item::End => self.target_info(),
        }
        if self.points.are_many() {
            self.flush();
        }
    }

    /// Writes the points so far.
    fn flush(&mut self) {
        let points = std::mem::replace(&mut self.points, Points::within(self.db));
        self.written.extend(points.write(self.db));
        if let Some(totals) = &mut self.totals {
            totals.written();
        }
    }

    /// Refuses the next data point.
    fn refuse(&mut self, fault: Fault) {
        self.points.refuse_at(self.next, fault);
        self.next += 1;
    }

    /// Sets the metadata of a metric if it has changed.
    fn describe(&mut self, help: &str) {
        if let Ok(Translated { name, kind, .. }) = &self.metric {
            let (name, kind, help) = (name.clone(), *kind, help.to_owned());
            self.set_metadata(&name, Metadata { kind, help });
        }
    }

    fn set_metadata(&mut self, metric: &str, metadata: Metadata) {
        if self.db.metadata(metric).unwrap_or_default() == metadata {
            return;
        }
        if let Err(error) = self.db.set_metadata(metric, metadata) {
            self.points.refuse_at(self.next, error.into());
        }
    }

    fn point(&mut self, point: &Point<'_>) {
        let metric = self.metric.as_ref();
        let metric = metric.map(|metric| (metric.name.clone(), metric.is_delta));
        let named = metric.map_err(Clone::clone);
        let named = named.and_then(|metric| Ok((metric, point.labels()?)));
        let ((name, is_delta), labels) = match named {
            Ok(named) => named,
            Err(reason) => return self.refuse(Fault::form(reason)),
        };
        let name = name.as_str();
        self.source.widen(point.time_ms);
        let labels = with_identity(labels, &self.source.identity);
        for (suffix, label, value) in &point.values {
            let sample = Sample::new(point.time_ms, *value);
            build(&mut self.builder, &labels, name, suffix, label.as_ref());
            match self.builder.build_ref() {
                Ok(labels) if is_delta => {
                    let totals = self.totals.get_or_insert_with(Totals::begin);
                    match totals.add(self.db, labels, sample) {
                        Some(total) => self.points.push_at(self.next, labels, total),
                        None => self.points.refuse_at(self.next, Fault::form(COUNTED)),
                    }
                }
                Ok(labels) => self.points.push_at(self.next, labels, sample),
                Err(error) => self.points.refuse_at(self.next, error.into()),
            }
        }
        self.exemplars(name, point, &labels);
        self.next += 1;
    }

    /// Stores the exemplars of a point, each with the series that it belongs to.
    fn exemplars(&mut self, name: &str, point: &Point<'_>, labels: &LabelMap) {
        for message in point.exemplars {
            let sample = sample_of(message);
            let (suffix, label, _) = &point.values[point.position_for(sample.value)];
            build(&mut self.builder, labels, name, suffix, label.as_ref());
            let series = self.builder.build();
            let (Ok(series), Ok(labels)) = (series, exemplar_labels(message)) else {
                // Series with wrong labels were refused before. An exemplar is a hint.
                continue;
            };
            self.exemplars.add(series, Exemplar { labels, sample });
        }
    }

    /// Adds the attributes of a resource as a series that covers the times of its other samples.
    fn target_info(&mut self) {
        let source = std::mem::take(&mut self.source);
        let labels = resource::info(&source.attributes);
        let (Some(labels), Some((first_ms, last_ms))) = (labels, source.range_ms) else {
            return;
        };
        let identity = &source.identity;
        // Without an identity, no query could join the attributes with other series.
        if identity.is_empty() {
            return;
        }
        let labels = with_identity(labels, identity);
        build(&mut self.builder, &labels, TARGET_INFO, "", None);
        let Ok(labels) = self.builder.build() else {
            return;
        };
        let help = "Target metadata".to_owned();
        let kind = MetricKind::Gauge;
        self.set_metadata(TARGET_INFO, Metadata { kind, help });
        let times = (first_ms..last_ms).step_by(INFO_STEP_MS).take(MAX_INFO);
        for time_ms in times.chain([last_ms]) {
            let sample = Sample::new(time_ms, 1.0);
            self.points.push_at(self.next, labels.borrowed(), sample);
        }
    }
}

impl Source {
    fn widen(&mut self, time_ms: i64) {
        let (first_ms, last_ms) = self.range_ms.unwrap_or((time_ms, time_ms));
        self.range_ms = Some((first_ms.min(time_ms), last_ms.max(time_ms)));
    }
}

/// The labels with those of the resource, which win.
fn with_identity(mut labels: LabelMap, identity: &[(&'static str, String)]) -> LabelMap {
    for (name, value) in identity {
        labels.insert((*name).to_owned(), value.clone());
    }
    labels
}

/// Fills the builder with the labels of a series. Its name and its further label win.
fn build(
    builder: &mut LabelsBuilder,
    labels: &LabelMap,
    name: &str,
    suffix: &str,
    label: Option<&(&'static str, String)>,
) {
    builder.clear();
    let further = label.map_or("", |(name, _)| *name);
    let own = [METRIC_NAME, further];
    for (name, value) in labels
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
    {
        builder.label(name, value);
    }
    builder.metric(&format!("{name}{suffix}"));
    if let Some((name, value)) = label {
        builder.label(name, value);
    }
}

fn sample_of(message: &ExemplarMessage) -> Sample {
    let value = message.as_double.or(message.as_int.map(|int| int as f64));
    Sample::new(
        milliseconds(message.time_unix_nano),
        value.unwrap_or_default(),
    )
}

/// The trace, the span and the attributes of an exemplar.
fn exemplar_labels(message: &ExemplarMessage) -> Result<Labels, LabelError> {
    let mut labels = Labels::builder();
    let attributes = message.filtered_attributes.iter();
    // The keys stay as they are, as in Prometheus.
    let attributes = attributes.filter(|attribute| !IDS.contains(&attribute.key.as_str()));
    for attribute in attributes {
        labels.label(&attribute.key, &text(attribute.value.as_deref()));
    }
    for (name, id) in IDS.iter().zip([&message.trace_id, &message.span_id]) {
        labels.label(name, &hex::encode(id));
    }
    labels.build()
}
