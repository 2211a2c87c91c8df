//! `label_replace` and `label_join`.

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::labels::{value_of, with_label};
use crate::plan::{Replacement, Vector};
use crate::steps::Steps;
use crate::{Labels, METRIC_NAME};

impl Evaluation<'_> {
    /// Matches a pattern against the source label, and sets the target label from the captures. A
    /// series that the pattern doesn't match stays as it is.
    pub(super) fn label_replace(
        &self,
        operand: &Vector,
        replacement: &Replacement,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        self.relabelled(operand, steps, &replacement.target, |labels| {
            let source = value_of(labels, &replacement.source);
            let captures = replacement.pattern.captures(source.as_bytes())?;
            let mut value = Vec::new();
            captures.expand(replacement.replacement.as_bytes(), &mut value);
            // The pattern covers the whole text, so its parts end between characters.
            String::from_utf8(value).ok()
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
        self.relabelled(operand, steps, target, |labels| {
            let values: Vec<&str> = sources.iter().map(|name| value_of(labels, name)).collect();
            Some(values.join(separator))
        })
    }

    /// Sets the target label of each series, unless it gets no value. A name that is set this way
    /// stays in the answer, even if a function was to drop the name before.
    fn relabelled(
        &self,
        operand: &Vector,
        steps: Steps,
        target: &str,
        value: impl Fn(&Labels) -> Option<String>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(operand, steps)?;
        for series in &mut series {
            self.budget.visit_series(0)?;
            if let Some(value) = value(&series.labels) {
                series.labels = with_label(&series.labels, target, &value)?;
                series.drops_name &= target != METRIC_NAME;
            }
        }
        merged(&self.budget, series)
    }
}
