//! Instant vectors: each kind of expression to the file that evaluates it.

use super::stepped::merged;
use super::{Evaluation, Stepped, arithmetic};
use crate::Labels;
use crate::promql::QueryError;
use crate::promql::functions::Elementwise;
use crate::promql::labels::without_name;
use crate::promql::plan::{Operator, Scalar, Vector};
use crate::promql::steps::Steps;

impl Evaluation<'_> {
    /// The series of an instant vector expression: no two with the same labels, none without any
    /// value.
    pub(super) fn vector(&self, expr: &Vector, steps: Steps) -> Result<Vec<Stepped>, QueryError> {
        match expr {
            Vector::Selector(selector) => self.select(selector, steps, |(_, value)| value),
            Vector::TimestampOf(selector) => {
                nameless(self.select(selector, steps, |(time, _)| time as f64 / 1000.0)?)
            }
            Vector::TimeOf(of) => {
                self.mapped(of, steps, |step, _| Some(steps.time(step) as f64 / 1000.0))
            }
            Vector::OfScalar(scalar) => Ok(vec![Stepped {
                labels: Labels::default(),
                values: self.scalar(scalar, steps)?,
            }]),
            Vector::Elementwise {
                function,
                of,
                parameters,
            } => self.elementwise(*function, of, parameters, steps),
            Vector::Window {
                function,
                keeps_name,
                of,
                parameters,
            } => {
                let series = self.window(*function, of, parameters, steps)?;
                if *keeps_name {
                    merged(series)
                } else {
                    nameless(series)
                }
            }
            Vector::Aggregate {
                aggregation,
                grouping,
                of,
            } => self.aggregate(aggregation, grouping, of, steps),
            Vector::WithScalar {
                operator,
                bool,
                scalar,
                on_left,
                of,
            } => {
                let sides = Sides {
                    operator: *operator,
                    bool: *bool,
                    on_left: *on_left,
                };
                self.with_scalar(sides, scalar, of, steps)
            }
            Vector::Joined {
                operator,
                bool,
                left,
                right,
                join,
            } => {
                let (left, right) = (self.vector(left, steps)?, self.vector(right, steps)?);
                self.joined(*operator, *bool, join, left, right)
            }
            Vector::Set {
                operator,
                left,
                right,
                matching,
            } => {
                let (left, right) = (self.vector(left, steps)?, self.vector(right, steps)?);
                self.set(*operator, matching, left, right)
            }
            Vector::LabelReplace { of, replacement } => self.label_replace(of, replacement, steps),
            Vector::LabelJoin {
                of,
                target,
                separator,
                sources,
            } => self.label_join(of, target, separator, sources, steps),
            Vector::HistogramQuantile { quantile, of } => {
                self.histogram_quantile(quantile, of, steps)
            }
            Vector::Absent { of, labels } => self.absent(of, labels, steps),
            Vector::AbsentOverTime { of, labels } => self.absent_over_time(of, labels, steps),
            Vector::Sorted { of, descending } => self.sorted(of, *descending, steps),
        }
    }

    /// Replaces the values, and drops the names.
    fn mapped(
        &self,
        of: &Vector,
        steps: Steps,
        function: impl Fn(usize, f64) -> Option<f64>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(of, steps)?;
        series.iter_mut().for_each(|series| series.map(&function));
        nameless(series)
    }

    fn elementwise(
        &self,
        function: Elementwise,
        of: &Vector,
        parameters: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let parameters = self.scalars(parameters, steps)?;
        self.mapped(of, steps, |step, value| function(value, &parameters[step]))
    }

    fn with_scalar(
        &self,
        sides: Sides,
        scalar: &Scalar,
        of: &Vector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let scalar = self.scalar(scalar, steps)?;
        let mut series = self.vector(of, steps)?;
        for series in &mut series {
            series.map(|step, value| sides.apply(value, scalar[step]));
        }
        if sides.keeps_name() {
            merged(series)
        } else {
            nameless(series)
        }
    }
}

/// An operator between a vector and a scalar.
#[derive(Clone, Copy)]
struct Sides {
    operator: Operator,
    bool: bool,
    on_left: bool,
}

impl Sides {
    /// A comparison that filters answers with the vector's value, on whichever side it is.
    fn apply(self, value: f64, scalar: f64) -> Option<f64> {
        let (left, right) = if self.on_left {
            (scalar, value)
        } else {
            (value, scalar)
        };
        if self.keeps_name() {
            return arithmetic::filter(self.operator, left, right).map(|_| value);
        }
        Some(arithmetic::number(self.operator, left, right))
    }

    fn keeps_name(self) -> bool {
        arithmetic::compares(self.operator) && !self.bool
    }
}

/// The series without their metrics' names.
pub(super) fn nameless(mut series: Vec<Stepped>) -> Result<Vec<Stepped>, QueryError> {
    for series in &mut series {
        series.labels = without_name(&series.labels);
    }
    merged(series)
}
