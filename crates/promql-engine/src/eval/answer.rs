//! Converts the evaluated series to the `Value` that the caller gets.

use super::stepped::settled;
use super::{Evaluation, Stepped};
use crate::absence::present;
use crate::functions::extended_samples;
use crate::plan::{Aggregation, Extent, Matrix, Plan, Vector};
use crate::steps::Steps;
use crate::{InstantSeries, QueryError, RangeSeries, Value};
use crate::{Labels, Sample};

impl Evaluation<'_> {
    /// The value of a plan at one time.
    pub(crate) fn instant(&self, plan: &Plan, time: i64) -> Result<Value, QueryError> {
        let steps = Steps::instant(time);
        Ok(match plan {
            Plan::Scalar(scalar) => {
                let value = self
                    .scalar(scalar, steps)?
                    .first()
                    .copied()
                    .unwrap_or(f64::NAN);
                Value::Scalar(Sample {
                    timestamp_ms: time,
                    value,
                })
            }
            Plan::String(text) => Value::String {
                timestamp_ms: time,
                text: text.clone(),
            },
            Plan::Vector(vector) => Value::Vector(self.instant_vector(vector, time)?),
            Plan::Matrix(matrix) => Value::Matrix(self.samples(matrix, steps)?),
        })
    }

    /// The values of a plan over a range.
    pub(crate) fn range(&self, plan: &Plan, steps: Steps) -> Result<Value, QueryError> {
        let series = match plan {
            Plan::Scalar(scalar) => {
                let values = self.scalar(scalar, steps)?;
                vec![Stepped::new(Labels::default(), values)]
            }
            Plan::Vector(vector) => settled(&self.budget, self.vector(vector, steps)?)?,
            Plan::Matrix(_) | Plan::String(_) => {
                let reason = "a range query must be a scalar or an instant vector".into();
                return Err(QueryError::Syntax { reason });
            }
        };
        let samples = |series: &Stepped| {
            let sample = |(step, value)| Sample {
                timestamp_ms: steps.time(step),
                value,
            };
            present(&series.values).map(sample).collect()
        };
        let range = |series: &Stepped| -> Result<_, QueryError> {
            self.budget.visit_series(series.values.len())?;
            Ok(RangeSeries {
                labels: series.labels.clone(),
                samples: samples(series),
            })
        };
        let ranges = series.iter().map(range).collect::<Result<_, _>>()?;
        Ok(Value::Matrix(sorted(ranges)))
    }

    fn instant_vector(&self, vector: &Vector, time: i64) -> Result<Vec<InstantSeries>, QueryError> {
        let series = settled(&self.budget, self.vector(vector, Steps::instant(time))?)?;
        let instant = |series: Stepped| InstantSeries {
            sample: Sample {
                timestamp_ms: time,
                // The value is present, because a vector contains no series without values.
                value: series.values[0],
            },
            labels: series.labels,
        };
        let mut out: Vec<InstantSeries> = series.into_iter().map(instant).collect();
        if !is_ordered(vector) {
            out.sort_by(|one, other| one.labels.cmp(&other.labels));
        }
        Ok(out)
    }

    /// The samples of a range vector at one time.
    fn samples(&self, matrix: &Matrix, steps: Steps) -> Result<Vec<RangeSeries>, QueryError> {
        let extent = matrix.extent();
        let mut out = Vec::new();
        self.slide(matrix, steps, |windows| {
            let Some(window) = windows.next(0) else {
                return Ok(());
            };
            let pairs = match extent {
                Extent::Inside => {
                    let times = window.timestamps.iter().copied();
                    times.zip(window.values.iter().copied()).collect()
                }
                extent => extended_samples(&window, extent == Extent::Smoothed),
            };
            let sample = |(timestamp_ms, value)| Sample {
                timestamp_ms,
                value,
            };
            let samples = pairs.into_iter().map(sample).collect();
            let labels = windows.samples.labels.clone();
            out.push(RangeSeries { labels, samples });
            Ok(())
        })?;
        Ok(sorted(out))
    }
}

fn sorted(mut series: Vec<RangeSeries>) -> Vec<RangeSeries> {
    series.sort_by(|one, other| one.labels.cmp(&other.labels));
    series
}

/// Whether the query itself orders its result.
fn is_ordered(vector: &Vector) -> bool {
    match vector {
        Vector::Sorted { .. } | Vector::SortedByLabels { .. } => true,
        Vector::Aggregate { aggregation, .. } => {
            matches!(aggregation, Aggregation::Top(_) | Aggregation::Bottom(_))
        }
        _ => false,
    }
}
