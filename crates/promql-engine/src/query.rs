use super::eval::Evaluation;
use super::plan::{Plan, lower};
use super::steps::Steps;
use super::{QueryError, QueryOptions, QueryStats, Value};
use crate::Storage;

/// A parsed and checked query. It can be evaluated any number of times, from any thread.
#[derive(Debug)]
pub struct Query {
    plan: Plan,
    /// The text, if its durations need the times of each evaluation.
    timed: Option<String>,
}

/// The times of a range query, in ms: `start`, then one time every `step`, up to `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The first time.
    pub start_ms: i64,
    /// The end. It is the last time if a step falls on it.
    pub end_ms: i64,
    /// The distance between two times.
    pub step_ms: i64,
}

impl Query {
    /// Parses and checks a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`], [`QueryError::Unsupported`] or [`QueryError::TooLarge`];
    /// [`QueryError::Parameter`] for a parameter that no evaluation could use;
    /// [`QueryError::Label`] for a matcher that can't be built.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let (plan, needs_times) = lower(text, None)?;
        let timed = needs_times.then(|| text.to_owned());
        Ok(Self { plan, timed })
    }

    /// Evaluates the query at one time, in ms. The answer has the type of the query.
    ///
    /// # Errors
    /// [`QueryError::TooManySamples`] and [`QueryError::Timeout`] if a limit is reached;
    /// [`QueryError::Stopped`] if [`QueryOptions::proceed`] ends it;
    /// [`QueryError::SameLabels`], [`QueryError::ManyMatches`] and [`QueryError::ConflictingInfo`] if
    /// series can't be told apart;
    /// [`QueryError::Parameter`] for a parameter with an impossible value; [`QueryError::Label`]
    /// for a label that can't be built; [`QueryError::Storage`] if the storage can't be read;
    /// [`QueryError::Syntax`] for a duration of `step()` or `range()` that is not positive.
    pub fn instant(
        &self,
        storage: &dyn Storage,
        time_ms: i64,
        options: &QueryOptions,
    ) -> Result<Value, QueryError> {
        let counted = self.instant_with_stats(storage, time_ms, options);
        counted.map(|(value, _)| value)
    }

    /// Does the same as [`Self::instant`], and counts the samples.
    ///
    /// # Errors
    /// The errors of [`Self::instant`].
    pub fn instant_with_stats(
        &self,
        storage: &dyn Storage,
        time_ms: i64,
        options: &QueryOptions,
    ) -> Result<(Value, QueryStats), QueryError> {
        let range = TimeRange {
            start_ms: time_ms,
            end_ms: time_ms,
            step_ms: 0,
        };
        let timed = self.timed_plan(range)?;
        let evaluation = Evaluation::new(storage, options, range);
        let value = evaluation.instant(timed.as_ref().unwrap_or(&self.plan), time_ms)?;
        Ok((value, evaluation.stats()))
    }

    /// Evaluates the query at each time of a range. The answer is a [`Value::Matrix`]. The query
    /// reads the samples of each selector only once, not once per time.
    ///
    /// # Errors
    /// [`QueryError::StepNotPositive`], [`QueryError::EndBeforeStart`] or
    /// [`QueryError::TooManySteps`] for a range that is not allowed; [`QueryError::Syntax`] for a
    /// query that is a string or a range vector; and every error of [`Self::instant`].
    pub fn range(
        &self,
        storage: &dyn Storage,
        range: TimeRange,
        options: &QueryOptions,
    ) -> Result<Value, QueryError> {
        let counted = self.range_with_stats(storage, range, options);
        counted.map(|(value, _)| value)
    }

    /// Does the same as [`Self::range`], and counts the samples.
    ///
    /// # Errors
    /// The errors of [`Self::range`].
    pub fn range_with_stats(
        &self,
        storage: &dyn Storage,
        range: TimeRange,
        options: &QueryOptions,
    ) -> Result<(Value, QueryStats), QueryError> {
        let TimeRange {
            start_ms,
            end_ms,
            step_ms,
        } = range;
        if step_ms <= 0 {
            return Err(QueryError::StepNotPositive);
        }
        if end_ms < start_ms {
            return Err(QueryError::EndBeforeStart);
        }
        let max = options.max_steps;
        let steps = Steps::between(start_ms, end_ms, step_ms, max as u64)
            .map_err(|actual| QueryError::TooManySteps { max, actual })?;
        let timed = self.timed_plan(range)?;
        let evaluation = Evaluation::new(storage, options, range);
        let value = evaluation.range(timed.as_ref().unwrap_or(&self.plan), steps)?;
        Ok((value, evaluation.stats()))
    }

    /// The plan of an evaluation at these times, if it differs from that of others.
    fn timed_plan(&self, range: TimeRange) -> Result<Option<Plan>, QueryError> {
        let plan = |text: &String| Ok(lower(text, Some(range))?.0);
        self.timed.as_ref().map(plan).transpose()
    }
}
