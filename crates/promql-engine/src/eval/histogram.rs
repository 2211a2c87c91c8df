//! Functions of classic histograms: series that differ only in the label `le` form one histogram.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::Labels;
use crate::QueryError;
use crate::absence::is_absent;
use crate::functions::{Bucket, BucketFunction, bucket_quantile};
use crate::labels::{value_of, with_label};
use crate::number::push_number;
use crate::plan::{Scalar, Vector};
use crate::steps::Steps;

/// The label with a bucket's upper bound.
const UPPER_BOUND: &str = "le";

/// The labels of a histogram, and its series with their upper bounds.
type Histogram = (Labels, Vec<(f64, Stepped)>);

impl Evaluation<'_> {
    /// The value of the function for each histogram. The series of a histogram share all labels except
    /// `le`, including the metric's name, which the answer omits. Series whose `le` is not a number
    /// are ignored.
    pub(super) fn of_buckets(
        &self,
        function: BucketFunction,
        parameters: &[Scalar],
        operand: &Vector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|parameter| self.scalar(parameter, steps))
            .collect::<Result<_, _>>()?;
        let mut at_step = Vec::new();
        let mut out = Vec::new();
        let mut buckets = Vec::new();
        for (labels, series) in self.histograms(self.vector(operand, steps)?)? {
            self.budget.hold(steps.count())?;
            let mut result = Stepped {
                drops_name: true,
                ..Stepped::absent(labels, steps.count())
            };
            for (step, slot) in result.values.iter_mut().enumerate() {
                self.budget.visit(series.len())?;
                fill_buckets(&mut buckets, &series, step);
                if !buckets.is_empty() {
                    at_step.clear();
                    at_step.extend(parameters.iter().map(|values| values[step]));
                    *slot = function(&at_step, &mut buckets);
                }
            }
            out.push(result);
        }
        merged(&self.budget, out)
    }

    /// The quantiles of each histogram. A label has the quantile.
    pub(super) fn quantiles_of_buckets(
        &self,
        operand: &Vector,
        label: &str,
        quantiles: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let histograms = self.histograms(self.vector(operand, steps)?)?;
        let mut out = Vec::new();
        let mut buckets = Vec::new();
        for quantile in quantiles {
            let quantiles = self.scalar(quantile, steps)?;
            for (labels, series) in &histograms {
                // The parameter of a range query may differ from step to step.
                let mut by_quantile: HashMap<u64, Stepped> = HashMap::new();
                for (step, &quantile) in quantiles.iter().enumerate() {
                    self.budget.visit(series.len())?;
                    fill_buckets(&mut buckets, series, step);
                    if buckets.is_empty() {
                        continue;
                    }
                    let result = match by_quantile.entry(quantile.to_bits()) {
                        Entry::Occupied(result) => result.into_mut(),
                        Entry::Vacant(vacant) => {
                            self.budget.hold(steps.count())?;
                            let labels = with_label(labels, label, &quantile_text(quantile))?;
                            vacant.insert(Stepped {
                                drops_name: true,
                                ..Stepped::absent(labels, steps.count())
                            })
                        }
                    };
                    result.values[step] = bucket_quantile(quantile, &mut buckets);
                }
                out.extend(by_quantile.into_values());
            }
        }
        merged(&self.budget, out)
    }

    /// The series of each histogram with their upper bounds, in order of first appearance.
    fn histograms(&self, series: Vec<Stepped>) -> Result<Vec<Histogram>, QueryError> {
        let mut indexes: HashMap<Labels, usize> = HashMap::new();
        let mut out: Vec<Histogram> = Vec::new();
        for series in series {
            self.budget.visit_series(0)?;
            let upper_bound = value_of(&series.labels, UPPER_BOUND).parse::<f64>();
            let Some(upper_bound) = upper_bound.ok().filter(|bound| !bound.is_nan()) else {
                continue;
            };
            let labels = series.labels.filtered(|label| label.name != UPPER_BOUND);
            let index = *indexes.entry(labels.clone()).or_insert(out.len());
            if index == out.len() {
                out.push((labels, Vec::new()));
            }
            out[index].1.push((upper_bound, series));
        }
        Ok(out)
    }
}

/// The buckets of a histogram that have a count at a step.
fn fill_buckets(buckets: &mut Vec<Bucket>, series: &[(f64, Stepped)], step: usize) {
    buckets.clear();
    buckets.extend(series.iter().filter_map(|(upper_bound, series)| {
        let count = series.values[step];
        (!is_absent(count)).then_some(Bucket {
            upper_bound: *upper_bound,
            count,
        })
    }));
}

/// A quantile as OpenMetrics writes it: `0.0`, `0.25`, `1.0`.
fn quantile_text(quantile: f64) -> String {
    let mut text = String::new();
    push_number(&mut text, quantile);
    if quantile.is_finite() && !text.contains(['.', 'e']) {
        text.push_str(".0");
    }
    text
}
