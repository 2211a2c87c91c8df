//! Functions of classic histograms: series that differ only in the label `le` form one histogram.

use std::collections::HashMap;

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::Labels;
use crate::QueryError;
use crate::absence::is_absent;
use crate::functions::{Bucket, BucketFunction};
use crate::labels::value_of;
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
                let count = |(upper_bound, series): &(f64, Stepped)| {
                    let count = series.values[step];
                    (!is_absent(count)).then_some(Bucket {
                        upper_bound: *upper_bound,
                        count,
                    })
                };
                self.budget.visit(series.len())?;
                buckets.clear();
                buckets.extend(series.iter().filter_map(count));
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
