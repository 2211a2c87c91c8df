//! `absent` and `absent_over_time`: one series that is 1 where the operand has no value.

use super::{Evaluation, Stepped};
use crate::Labels;
use crate::QueryError;
use crate::absence::{ABSENT, present};
use crate::plan::{Matrix, Vector};
use crate::steps::Steps;

impl Evaluation<'_> {
    /// A series that is 1 at the steps at which no series of the operand has a value.
    pub(super) fn absent(
        &self,
        operand: &Vector,
        labels: &Labels,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut values = self.ones(steps)?;
        for series in self.vector(operand, steps)? {
            self.budget.visit(series.values.len())?;
            for (step, _) in present(&series.values) {
                values[step] = ABSENT;
            }
        }
        Ok(one_series(labels, values))
    }

    /// A series that is 1 at the steps whose ranges contain no sample of the operand.
    pub(super) fn absent_over_time(
        &self,
        operand: &Matrix,
        labels: &Labels,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut values = self.ones(steps)?;
        self.slide(operand, steps, |windows| {
            for (step, value) in values.iter_mut().enumerate() {
                if windows.next(step).is_some() {
                    *value = ABSENT;
                }
            }
            self.budget.visit(steps.count())
        })?;
        Ok(one_series(labels, values))
    }

    fn ones(&self, steps: Steps) -> Result<Vec<f64>, QueryError> {
        self.budget.hold(steps.count())?;
        Ok(vec![1.0; steps.count()])
    }
}

fn one_series(labels: &Labels, values: Vec<f64>) -> Vec<Stepped> {
    let series = Stepped::new(labels.clone(), values);
    if series.is_empty() {
        Vec::new()
    } else {
        vec![series]
    }
}
