//! `label_replace` and `label_join`.

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::promql::QueryError;
use crate::promql::labels::{value_of, with_label};
use crate::promql::plan::{Replacement, Vector};
use crate::promql::steps::Steps;
use crate::{Error, Labels};

impl Evaluation<'_> {
    /// Matches a pattern against the source label, and sets the target label from the captures. A
    /// series that the pattern doesn't match stays as it is.
    pub(super) fn label_replace(
        &self,
        operand: &Vector,
        replacement: &Replacement,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        self.relabelled(operand, steps, |labels| {
            let source = value_of(labels, &replacement.source);
            let Some(captures) = replacement.pattern.captures(source) else {
                return Ok(labels.clone());
            };
            let mut value = String::new();
            captures.expand(&replacement.replacement, &mut value);
            with_label(labels, &replacement.target, &value)
        })
    }

    /// Sets a label to the joined values of others.
    pub(super) fn label_join(
        &self,
        operand: &Vector,
        target: &str,
        separator: &str,
        sources: &[String],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        self.relabelled(operand, steps, |labels| {
            let values: Vec<&str> = sources.iter().map(|name| value_of(labels, name)).collect();
            with_label(labels, target, &values.join(separator))
        })
    }

    fn relabelled(
        &self,
        operand: &Vector,
        steps: Steps,
        change: impl Fn(&Labels) -> Result<Labels, Error>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(operand, steps)?;
        for series in &mut series {
            series.labels = change(&series.labels)?;
        }
        merged(series)
    }
}
