//! `label_replace` and `label_join`.

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::promql::QueryError;
use crate::promql::labels::{value_of, with_label};
use crate::promql::plan::{Replacement, Vector};
use crate::promql::steps::Steps;
use crate::{Error, Labels};

impl Evaluation<'_> {
    /// Sets a label to what a pattern captures of another; where the pattern doesn't match, the
    /// series stays as it is.
    pub(super) fn label_replace(
        &self,
        of: &Vector,
        replacement: &Replacement,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        self.relabelled(of, steps, |labels| {
            let source = value_of(labels, &replacement.source);
            let Some(captures) = replacement.pattern.captures(source) else {
                return Ok(labels.clone());
            };
            let mut value = String::new();
            captures.expand(&replacement.replacement, &mut value);
            with_label(labels, &replacement.target, &value)
        })
    }

    /// Sets a label to the values of others, joined.
    pub(super) fn label_join(
        &self,
        of: &Vector,
        target: &str,
        separator: &str,
        sources: &[String],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        self.relabelled(of, steps, |labels| {
            let values: Vec<&str> = sources.iter().map(|name| value_of(labels, name)).collect();
            with_label(labels, target, &values.join(separator))
        })
    }

    fn relabelled(
        &self,
        of: &Vector,
        steps: Steps,
        change: impl Fn(&Labels) -> Result<Labels, Error>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(of, steps)?;
        for series in &mut series {
            series.labels = change(&series.labels)?;
        }
        merged(series)
    }
}
