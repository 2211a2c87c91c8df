use super::eval::Evaluation;
use super::plan::{Plan, lower};
use super::steps::Steps;
use super::{QueryError, QueryOptions, Value};
use crate::Db;

/// A query, parsed and checked: evaluate it as often as needed, from any thread.
#[derive(Debug)]
pub struct Query {
    plan: Plan,
}

/// The times of a range query, in ms: from `start` every `step` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first time.
    pub start_ms: i64,
    /// The last time, where a step meets it.
    pub end_ms: i64,
    /// The distance between two times.
    pub step_ms: i64,
}

impl Query {
    /// Parses and checks a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`], [`QueryError::Unsupported`], [`QueryError::TooLarge`], or
    /// [`QueryError::Parameter`] for a parameter that no evaluation could use.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Ok(Self { plan: lower(text)? })
    }

    /// The query's answer at one time, in ms: a value of the query's own type.
    ///
    /// # Errors
    /// Every [`QueryError`] of an evaluation: limits, label clashes, the engine's.
    pub fn instant(
        &self,
        db: &Db,
        time_ms: i64,
        options: &QueryOptions,
    ) -> Result<Value, QueryError> {
        Evaluation::new(db, options, (time_ms, time_ms)).instant(&self.plan, time_ms)
    }

    /// The query's answers at each time of a range, a [`Value::Matrix`]. Reads each selected series
    /// once.
    ///
    /// # Errors
    /// As [`Self::instant`], and those of an impossible range. A string or a range vector has no
    /// range: [`QueryError::Syntax`].
    pub fn range(
        &self,
        db: &Db,
        range: TimeRange,
        options: &QueryOptions,
    ) -> Result<Value, QueryError> {
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
        Evaluation::new(db, options, (start_ms, end_ms)).range(&self.plan, steps)
    }
}
