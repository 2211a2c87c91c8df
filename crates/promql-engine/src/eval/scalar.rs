//! Scalars: one value at each step.

use super::{Evaluation, arithmetic};
use crate::QueryError;
use crate::absence::is_absent;
use crate::plan::{OfQuery, Scalar, Vector};
use crate::steps::Steps;

impl Evaluation<'_> {
    /// The values of a scalar expression.
    pub(super) fn scalar(&self, expr: &Scalar, steps: Steps) -> Result<Vec<f64>, QueryError> {
        self.budget.hold(steps.count())?;
        match expr {
            Scalar::Number(number) => Ok(vec![*number; steps.count()]),
            Scalar::Time => Ok(steps.times().map(|time| time as f64 / 1000.0).collect()),
            Scalar::OfQuery(part) => Ok(vec![self.of_query(*part); steps.count()]),
            Scalar::OfVector(operand) => self.only_value(operand, steps),
            Scalar::Factor { operand, parameter } => {
                factors(self.scalar(operand, steps)?, parameter)
            }
            Scalar::Extreme {
                function,
                left,
                right,
            } => self.combined(left, right, steps, function),
            Scalar::Negated(operand) => {
                let mut values = self.scalar(operand, steps)?;
                values.iter_mut().for_each(|value| *value = -*value);
                Ok(values)
            }
            Scalar::Binary {
                operator,
                left,
                right,
            } => self.combined(left, right, steps, |left, right| {
                arithmetic::number(*operator, left, right)
            }),
        }
    }

    fn combined(
        &self,
        left: &Scalar,
        right: &Scalar,
        steps: Steps,
        function: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<f64>, QueryError> {
        let (mut left, right) = (self.scalar(left, steps)?, self.scalar(right, steps)?);
        for (left, &right) in left.iter_mut().zip(&right) {
            *left = function(*left, right);
        }
        Ok(left)
    }

    /// A part of the query's times, in seconds. Inside a sub-query too, they are those of the whole
    /// query.
    fn of_query(&self, part: OfQuery) -> f64 {
        let range = self.range;
        let milliseconds = match part {
            OfQuery::Start => range.start_ms,
            OfQuery::End => range.end_ms,
            OfQuery::Step => range.step_ms,
            OfQuery::Range => range.end_ms.saturating_sub(range.start_ms),
        };
        milliseconds as f64 / 1000.0
    }

    /// The parameters of a function, by step.
    pub(super) fn scalars(
        &self,
        parameters: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Vec<f64>>, QueryError> {
        let columns = parameters
            .iter()
            .map(|parameter| self.scalar(parameter, steps))
            .collect::<Result<Vec<_>, _>>()?;
        // Transposed, because functions take their parameters step by step.
        let row = |step: usize| columns.iter().map(|column| column[step]).collect();
        Ok((0..steps.count()).map(row).collect())
    }

    /// At each step, the value if exactly one series has a value there, otherwise NaN.
    fn only_value(&self, operand: &Vector, steps: Steps) -> Result<Vec<f64>, QueryError> {
        let series = self.vector(operand, steps)?;
        let only = |step: usize| {
            let mut values = series.iter().map(|series| series.values[step]);
            let mut present = values.by_ref().filter(|value| !is_absent(*value));
            match (present.next(), present.next()) {
                (Some(value), None) => value,
                _ => f64::NAN,
            }
        };
        let step = |step: usize| {
            self.budget.visit(series.len())?;
            Ok(only(step))
        };
        (0..steps.count()).map(step).collect()
    }
}

/// The values of a factor of `double_exponential_smoothing`, if all lie between 0 and 1.
fn factors(values: Vec<f64>, parameter: &'static str) -> Result<Vec<f64>, QueryError> {
    match values.iter().find(|value| **value <= 0.0 || **value >= 1.0) {
        None => Ok(values),
        Some(wrong) => Err(QueryError::Parameter {
            function: "double_exponential_smoothing",
            parameter,
            reason: format!("it must be between 0 and 1, but is {wrong}"),
        }),
    }
}
