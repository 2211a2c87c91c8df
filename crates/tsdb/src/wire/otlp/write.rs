use prost::Message as _;

use super::attributes::{LabelMap, text};
use super::message::{Exemplar as ExemplarMessage, Metric, Request, ResourceMetrics};
use super::metric::{Point, Points as MetricPoints, Translated, milliseconds, translate};
use super::resource::{self, TARGET_INFO};
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};
use crate::{
    Db, Error, Exemplar, Exemplars, Labels, LabelsBuilder, METRIC_NAME, Metadata, MetricKind,
    Sample,
};

/// The distance between samples of `target_info` in a request that covers a longer time. Queries
/// look back twice as far.
const INFO_STEP_MS: usize = 150_000;
/// Maximum number of samples of `target_info` for a resource in one request.
const MAX_INFO: usize = 1000;
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
    let request = read(encoding, body)?;
    let mut writer = Writer {
        db,
        exemplars,
        points: Points::within(db),
        next: 0,
        builder: LabelsBuilder::default(),
    };
    for resource in &request.resource_metrics {
        writer.resource(resource);
    }
    Ok(writer.points.write(db))
}

/// The number of data points with a refused sample.
pub fn refused_points(ingested: &Ingested) -> usize {
    let mut indexes: Vec<usize> = ingested.errors.iter().map(|error| error.index).collect();
    indexes.dedup();
    // Each refused sample that is not listed counts as one more point.
    indexes.len() + ingested.refused - ingested.errors.len()
}

fn read(encoding: Encoding, body: &[u8]) -> Result<Request, Malformed> {
    let request = match encoding {
        Encoding::Protobuf => Request::decode(body).map_err(|failed| failed.to_string()),
        Encoding::Json => serde_json::from_slice(body).map_err(|failed| failed.to_string()),
    };
    request.map_err(|reason| Malformed { reason })
}

/// Translates the points of a request and collects their samples.
struct Writer<'a> {
    db: &'a Db,
    exemplars: &'a Exemplars,
    points: Points,
    /// The index of the next data point.
    next: usize,
    builder: LabelsBuilder,
}

/// The labels and the times that the points of a resource share.
struct Source {
    identity: Vec<(&'static str, String)>,
    /// The times of the oldest and the newest point.
    range_ms: Option<(i64, i64)>,
}

impl Writer<'_> {
    fn resource(&mut self, metrics: &ResourceMetrics) {
        let attributes = metrics.resource.as_ref();
        let attributes = attributes.map_or(&[][..], |resource| &resource.attributes);
        let mut source = Source {
            identity: resource::identity(attributes),
            range_ms: None,
        };
        for scope in &metrics.scope_metrics {
            for metric in &scope.metrics {
                self.metric(metric, &mut source);
            }
        }
        if let (Some(labels), Some(range_ms)) = (resource::info(attributes), source.range_ms) {
            self.target_info(labels, &source.identity, range_ms);
        }
    }

    fn metric(&mut self, metric: &Metric, source: &mut Source) {
        let translated = match translate(metric) {
            Ok(translated) => translated,
            Err(refused) => {
                for _ in 0..refused.points {
                    self.refuse(Fault::form(refused.reason.as_str()));
                }
                return;
            }
        };
        self.describe(&translated, &metric.description);
        let name = &translated.name;
        match translated.points {
            MetricPoints::Numbers(points) => {
                let points = points.iter().map(Point::of_number);
                points.for_each(|point| self.point(name, &point, source));
            }
            MetricPoints::Histograms(points) => {
                let points = points.iter().map(Point::of_histogram);
                points.for_each(|point| self.point(name, &point, source));
            }
            MetricPoints::Summaries(points) => {
                let points = points.iter().map(Point::of_summary);
                points.for_each(|point| self.point(name, &point, source));
            }
        }
    }

    /// Refuses the next data point.
    fn refuse(&mut self, fault: Fault) {
        self.points.refuse_at(self.next, fault);
        self.next += 1;
    }

    /// Sets the metadata of a metric if it has changed.
    fn describe(&mut self, translated: &Translated<'_>, help: &str) {
        let metadata = Metadata {
            kind: translated.kind,
            help: help.to_owned(),
        };
        self.set_metadata(&translated.name, metadata);
    }

    fn set_metadata(&mut self, metric: &str, metadata: Metadata) {
        if self.db.metadata(metric).unwrap_or_default() == metadata {
            return;
        }
        if let Err(error) = self.db.set_metadata(metric, metadata) {
            self.points.refuse_at(self.next, error.into());
        }
    }

    fn point(&mut self, name: &str, point: &Point<'_>, source: &mut Source) {
        let labels = match point.labels() {
            Ok(labels) => labels,
            Err(reason) => return self.refuse(Fault::form(reason)),
        };
        source.widen(point.time_ms);
        let labels = with_identity(labels, &source.identity);
        for (suffix, label, value) in &point.values {
            let sample = Sample::new(point.time_ms, *value);
            build(&mut self.builder, &labels, name, suffix, label.as_ref());
            match self.builder.build_ref() {
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
    fn target_info(
        &mut self,
        labels: LabelMap,
        identity: &[(&'static str, String)],
        (first_ms, last_ms): (i64, i64),
    ) {
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
fn exemplar_labels(message: &ExemplarMessage) -> Result<Labels, Error> {
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
