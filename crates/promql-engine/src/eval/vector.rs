//! Instant vectors: dispatches each kind of expression to the file that evaluates it.

use super::stepped::{merged, settled};
use super::{Evaluation, Stepped, arithmetic};
use crate::Labels;
use crate::QueryError;
use crate::functions::Elementwise;
use crate::plan::{Extent, Operator, Scalar, Vector};
use crate::steps::Steps;

impl Evaluation<'_> {
    /// Evaluates an instant vector. Each series of the result has at least one value. Two series
    /// have the same labels only if one of them drops its name and the other keeps it.
    pub(super) fn vector(&self, expr: &Vector, steps: Steps) -> Result<Vec<Stepped>, QueryError> {
        match expr {
            Vector::Selector(selector) if selector.extent == Extent::Smoothed => {
                self.smoothed(selector, steps)
            }
            Vector::Selector(selector) => self.select(selector, steps, |(_, value)| value),
            Vector::TimestampOf(selector) => {
                self.nameless(self.select(selector, steps, |(time, _)| time as f64 / 1000.0)?)
            }
            Vector::TimeOf(operand) => self.mapped(operand, steps, |step, _| {
                Some(steps.time(step) as f64 / 1000.0)
            }),
            Vector::OfScalar(scalar) => {
                let values = self.scalar(scalar, steps)?;
                Ok(vec![Stepped::new(Labels::default(), values)])
            }
            Vector::Elementwise {
                function,
                operand,
                parameters,
            } => self.elementwise(*function, operand, parameters, steps),
            Vector::Window {
                function,
                keeps_name,
                operand,
                parameters,
            } => {
                let series = self.window(*function, operand, parameters, steps)?;
                if *keeps_name {
                    merged(&self.budget, series)
                } else {
                    self.nameless(series)
                }
            }
            Vector::Aggregate {
                aggregation,
                grouping,
                operand,
            } => self.aggregate(aggregation, grouping, operand, steps),
            Vector::WithScalar {
                operator,
                bool,
                scalar,
                on_left,
                operand,
            } => {
                let sides = Sides {
                    operator: *operator,
                    bool: *bool,
                    on_left: *on_left,
                };
                self.with_scalar(sides, scalar, operand, steps)
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
            Vector::LabelReplace {
                operand,
                replacement,
            } => self.label_replace(operand, replacement, steps),
            Vector::LabelJoin {
                operand,
                target,
                separator,
                sources,
            } => self.label_join(operand, target, separator, sources, steps),
            Vector::OfBuckets {
                function,
                parameters,
                operand,
            } => self.of_buckets(*function, parameters, operand, steps),
            Vector::QuantilesOfBuckets {
                operand,
                label,
                quantiles,
            } => self.quantiles_of_buckets(operand, label, quantiles, steps),
            Vector::Absent { operand, labels } => self.absent(operand, labels, steps),
            Vector::AbsentOverTime { operand, labels } => {
                self.absent_over_time(operand, labels, steps)
            }
            Vector::Sorted {
                operand,
                descending,
            } => self.sorted(operand, *descending, steps),
            Vector::SortedByLabels {
                operand,
                labels,
                descending,
            } => self.sorted_by_labels(operand, labels, *descending, steps),
            Vector::Info { operand, info } => self.info(operand, info, steps),
            Vector::Settled(operand) => settled(&self.budget, self.vector(operand, steps)?),
        }
    }

    /// Replaces the values. The answer omits the names.
    fn mapped(
        &self,
        operand: &Vector,
        steps: Steps,
        function: impl Fn(usize, f64) -> Option<f64>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(operand, steps)?;
        for series in &mut series {
            self.budget.visit(series.values.len())?;
            series.map(&function);
        }
        self.nameless(series)
    }

    /// The series, marked so that the answer omits their metrics' names.
    fn nameless(&self, mut series: Vec<Stepped>) -> Result<Vec<Stepped>, QueryError> {
        for series in &mut series {
            series.drops_name = true;
        }
        merged(&self.budget, series)
    }

    fn elementwise(
        &self,
        function: Elementwise,
        operand: &Vector,
        parameters: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let parameters = self.scalars(parameters, steps)?;
        self.mapped(operand, steps, |step, value| {
            function(value, &parameters[step])
        })
    }

    fn with_scalar(
        &self,
        sides: Sides,
        scalar: &Scalar,
        operand: &Vector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let scalar = self.scalar(scalar, steps)?;
        let mut series = self.vector(operand, steps)?;
        for series in &mut series {
            self.budget.visit(series.values.len())?;
            series.map(|step, value| sides.apply(value, scalar[step]));
        }
        // `merged` drops the series that the filter left empty.
        if sides.keeps_name() {
            merged(&self.budget, series)
        } else {
            self.nameless(series)
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
    /// A comparison that filters keeps the vector's value, whichever side the vector is on.
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
