//! Metrics as series.

use super::attributes::{self, LabelMap};
use super::exponential;
use super::message::{
    DataHead, Exemplar, ExponentialPoint, HistogramPoint, KeyValue, MetricHead, NumberPoint,
    SummaryPoint,
};
use super::names::{NameKind, metric_name};
use super::request::Data;
use crate::{MetricKind, STALE_MARKER};

/// The temporality of points that count from the start of their source.
const CUMULATIVE: i32 = 2;
/// The temporality of points that count from the point before.
const DELTA: i32 = 1;
/// The flag of a point that says that its source has gone.
const NO_RECORDED_VALUE: u32 = 1;

/// The name and the kind of a metric that can be stored.
pub(super) struct Translated {
    pub(super) name: String,
    pub(super) kind: MetricKind,
    /// Whether its points are increases.
    pub(super) is_delta: bool,
}

/// Names a metric and chooses its type. `Err` is the reason why it is not stored.
pub(super) fn translate(
    metric: &MetricHead,
    data: Data,
    head: DataHead,
) -> Result<Translated, String> {
    let refused = |reason: &str| Err(format!("metric {}: {reason}", shown(&metric.name)));
    let (kind, name_kind, temporality) = match data {
        Data::Gauge => (MetricKind::Gauge, NameKind::Gauge, CUMULATIVE),
        Data::Sum if head.is_monotonic => (
            MetricKind::Counter,
            NameKind::Counter,
            head.aggregation_temporality,
        ),
        Data::Sum => (
            MetricKind::Gauge,
            NameKind::Other,
            head.aggregation_temporality,
        ),
        Data::Histogram | Data::Exponential => (
            MetricKind::Histogram,
            NameKind::Other,
            head.aggregation_temporality,
        ),
        Data::Summary => (MetricKind::Summary, NameKind::Other, CUMULATIVE),
        Data::Unknown => return refused("the type of the data is unknown"),
    };
    let is_delta = temporality == DELTA;
    if is_delta && data == Data::Exponential {
        return refused("an exponential histogram must be cumulative");
    }
    if !is_delta && temporality != CUMULATIVE {
        return refused("the aggregation temporality must be cumulative or delta");
    }
    match metric_name(&metric.name, &metric.unit, name_kind) {
        Some(name) => Ok(Translated {
            name,
            kind,
            is_delta,
        }),
        None => refused("the name has no letter or digit"),
    }
}

/// The start of a name, for errors.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

/// A value of a point: the suffix of its name, a further label, and the number.
pub(super) type Part = (&'static str, Option<(&'static str, String)>, f64);

/// A point as one or several samples of the same time.
pub(super) struct Point<'m> {
    pub(super) time_ms: i64,
    pub(super) attributes: &'m [KeyValue],
    pub(super) values: Vec<Part>,
    pub(super) exemplars: &'m [Exemplar],
}

impl<'m> Point<'m> {
    pub(super) fn of_number(point: &'m NumberPoint) -> Self {
        let value = point.as_double.or(point.as_int.map(|int| int as f64));
        Self {
            time_ms: milliseconds(point.time_unix_nano),
            attributes: &point.attributes,
            values: vec![("", None, value.unwrap_or_default())],
            exemplars: &point.exemplars,
        }
        .unless_gone(point.flags)
    }

    pub(super) fn of_histogram(point: &'m HistogramPoint) -> Self {
        let mut cumulated = 0_u64;
        let buckets = point.explicit_bounds.iter().zip(&point.bucket_counts);
        let buckets = buckets.map(|(bound, count)| {
            cumulated = cumulated.saturating_add(*count);
            (*bound, cumulated)
        });
        Self {
            time_ms: milliseconds(point.time_unix_nano),
            attributes: &point.attributes,
            values: histogram(point.sum, point.count, buckets),
            exemplars: &point.exemplars,
        }
        .unless_gone(point.flags)
    }

    pub(super) fn of_exponential(point: &'m ExponentialPoint) -> Self {
        let buckets = exponential::buckets(point).into_iter();
        Self {
            time_ms: milliseconds(point.time_unix_nano),
            attributes: &point.attributes,
            values: histogram(point.sum, point.count, buckets),
            exemplars: &point.exemplars,
        }
        .unless_gone(point.flags)
    }

    pub(super) fn of_summary(point: &'m SummaryPoint) -> Self {
        let mut values = vec![
            ("_sum", None, point.sum.unwrap_or_default()),
            ("_count", None, point.count as f64),
        ];
        values.extend(point.quantile_values.iter().map(|value| {
            let quantile = number_text(value.quantile.unwrap_or_default());
            let label = Some(("quantile", quantile));
            ("", label, value.value.unwrap_or_default())
        }));
        Self {
            time_ms: milliseconds(point.time_unix_nano),
            attributes: &point.attributes,
            values,
            exemplars: &[],
        }
        .unless_gone(point.flags)
    }

    fn unless_gone(mut self, flags: u32) -> Self {
        if flags & NO_RECORDED_VALUE != 0 {
            for (_, _, value) in &mut self.values {
                *value = STALE_MARKER;
            }
        }
        self
    }

    /// The labels of the point without a name. `Err` is the reason why there are none.
    pub(super) fn labels(&self) -> Result<LabelMap, String> {
        attributes::labels(self.attributes)
            .map_err(|key| format!("the attribute {:?} can't be a label name", shown(key)))
    }

    /// The position in `values` of the sample that an exemplar of this value belongs to: the first
    /// bucket that contains it.
    pub(super) fn position_for(&self, value: f64) -> usize {
        let contains = |(_, label, _): &Part| match label {
            Some(("le", bound)) => bound.parse().is_ok_and(|bound: f64| value <= bound),
            _ => self.values.len() == 1,
        };
        let found = self.values.iter().position(contains);
        found.unwrap_or(self.values.len() - 1)
    }
}

/// The samples of a histogram with these bounds and the counts up to them.
fn histogram(sum: Option<f64>, count: u64, buckets: impl Iterator<Item = (f64, u64)>) -> Vec<Part> {
    let mut values = Vec::with_capacity(buckets.size_hint().0 + 3);
    values.extend(sum.map(|sum| ("_sum", None, sum)));
    values.push(("_count", None, count as f64));
    // The last bucket, which has the count, is the one up to infinity.
    let buckets = buckets.filter(|(bound, _)| *bound != f64::INFINITY);
    values.extend(buckets.map(|(bound, count)| {
        let le = Some(("le", number_text(bound)));
        ("_bucket", le, count as f64)
    }));
    values.push(("_bucket", Some(("le", "+Inf".to_owned())), count as f64));
    values
}

/// A number as a label has it in Prometheus.
fn number_text(number: f64) -> String {
    match number {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        number => number.to_string(),
    }
}

pub(super) fn milliseconds(nanoseconds: u64) -> i64 {
    (nanoseconds / 1_000_000) as i64
}
