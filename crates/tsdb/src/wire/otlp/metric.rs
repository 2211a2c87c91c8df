//! Metrics as series.

use super::attributes::{self, LabelMap};
use super::message::{Exemplar, HistogramPoint, KeyValue, Metric, NumberPoint, SummaryPoint};
use super::names::{NameKind, metric_name};
use crate::{MetricKind, STALE_MARKER};

/// The temporality of points that count from the start of their source.
const CUMULATIVE: i32 = 2;
const DELTA: i32 = 1;
/// The flag of a point that says that its source has gone.
const NO_RECORDED_VALUE: u32 = 1;

/// A metric that can be stored.
pub(super) struct Translated<'m> {
    pub(super) name: String,
    pub(super) kind: MetricKind,
    pub(super) points: Points<'m>,
}

/// The points of a metric.
pub(super) enum Points<'m> {
    Numbers(&'m [NumberPoint]),
    Histograms(&'m [HistogramPoint]),
    Summaries(&'m [SummaryPoint]),
}

/// A metric that can't be stored: the number of its points and the reason.
pub(super) struct Refused {
    pub(super) points: usize,
    pub(super) reason: String,
}

/// Names a metric and chooses its type.
pub(super) fn translate(metric: &Metric) -> Result<Translated<'_>, Refused> {
    let (kind, name_kind, points, temporality) = if let Some(gauge) = &metric.gauge {
        let points = Points::Numbers(&gauge.data_points);
        (MetricKind::Gauge, NameKind::Gauge, points, CUMULATIVE)
    } else if let Some(sum) = &metric.sum {
        let points = Points::Numbers(&sum.data_points);
        let (kind, name_kind) = match sum.is_monotonic {
            true => (MetricKind::Counter, NameKind::Counter),
            false => (MetricKind::Gauge, NameKind::Other),
        };
        (kind, name_kind, points, sum.aggregation_temporality)
    } else if let Some(histogram) = &metric.histogram {
        let points = Points::Histograms(&histogram.data_points);
        let temporality = histogram.aggregation_temporality;
        (MetricKind::Histogram, NameKind::Other, points, temporality)
    } else if let Some(summary) = &metric.summary {
        let points = Points::Summaries(&summary.data_points);
        (MetricKind::Summary, NameKind::Other, points, CUMULATIVE)
    } else {
        return Err(not_stored(metric));
    };
    let refused = |reason: String| Refused {
        points: points.len(),
        reason: format!("metric {}: {reason}", shown(&metric.name)),
    };
    if temporality != CUMULATIVE {
        return Err(refused(wrong_temporality(temporality).to_owned()));
    }
    let name = metric_name(&metric.name, &metric.unit, name_kind);
    let Some(name) = name else {
        return Err(refused("the name has no letter or digit".to_owned()));
    };
    Ok(Translated { name, kind, points })
}

fn wrong_temporality(temporality: i32) -> &'static str {
    match temporality {
        DELTA => {
            "delta temporality can't be stored: a lost or repeated request would falsify every \
             later value; configure the exporter for cumulative temporality"
        }
        _ => "the aggregation temporality must be cumulative",
    }
}

/// The error for a metric of a type that is not stored.
fn not_stored(metric: &Metric) -> Refused {
    let exponential = metric.exponential_histogram.as_ref();
    let reason = match exponential {
        Some(_) => "exponential histograms are not stored",
        None => "the type of the data is unknown",
    };
    Refused {
        points: exponential.map_or(1, |histogram| histogram.data_points.len()),
        reason: format!("metric {}: {reason}", shown(&metric.name)),
    }
}

/// The start of a name, for errors.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

impl Points<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(points) => points.len(),
            Self::Histograms(points) => points.len(),
            Self::Summaries(points) => points.len(),
        }
    }
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
        let count = point.count as f64;
        let mut values = Vec::with_capacity(point.explicit_bounds.len() + 3);
        values.extend(point.sum.map(|sum| ("_sum", None, sum)));
        values.push(("_count", None, count));
        let mut cumulated = 0_u64;
        let buckets = point.explicit_bounds.iter().zip(&point.bucket_counts);
        // The last bucket, which has the count, is the one up to infinity.
        for (bound, count) in buckets.filter(|(bound, _)| **bound != f64::INFINITY) {
            cumulated = cumulated.saturating_add(*count);
            let le = Some(("le", number_text(*bound)));
            values.push(("_bucket", le, cumulated as f64));
        }
        values.push(("_bucket", Some(("le", "+Inf".to_owned())), count));
        Self {
            time_ms: milliseconds(point.time_unix_nano),
            attributes: &point.attributes,
            values,
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
