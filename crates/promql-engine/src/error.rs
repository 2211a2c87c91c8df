use std::time::Duration;

use crate::{LabelError, Labels, StorageError};

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not a valid query. Correct it.
    #[error("{reason}")]
    Syntax {
        /// The parser's message.
        reason: String,
    },
    /// The query uses a part of the language that this engine does not support. Rewrite it without
    /// that part.
    #[error("{what} is not supported")]
    Unsupported {
        /// The function, aggregation or modifier.
        what: String,
    },
    /// The text is too long or nested too deeply to be parsed. Split the query.
    #[error("the query has more than {max} {unit}")]
    TooLarge {
        /// The limit.
        max: usize,
        /// The unit of the limit: `bytes`, `tokens` or `levels`.
        unit: &'static str,
    },
    /// The end of the range is before its start. Swap them.
    #[error("the end of the range is before its start")]
    EndBeforeStart,
    /// The step of a range is not positive. Give a greater one.
    #[error("the step of a range must be positive")]
    StepNotPositive,
    /// The range has more steps than the options allow. Give a greater step.
    #[error("the range has {actual} steps, {max} are allowed")]
    TooManySteps {
        /// The limit.
        max: usize,
        /// The number of steps asked for.
        actual: u64,
    },
    /// The query reads or produces more samples than the options allow. Select fewer series or a
    /// shorter range.
    #[error("the query needs more than {max} samples")]
    TooManySamples {
        /// The limit.
        max: u64,
    },
    /// The query took longer than the options allow. Select less, or try again later.
    #[error("the query took longer than {limit:?}")]
    Timeout {
        /// The time allowed.
        limit: Duration,
    },
    /// [`QueryOptions::proceed`](crate::QueryOptions::proceed) ended the query: the caller stopped it.
    #[error("the query was stopped")]
    Stopped,
    /// Two series of a result have the same labels at one time, for example after their metric
    /// names were dropped. Keep a label that tells them apart.
    #[error("several series of a result have the labels {labels}")]
    SameLabels {
        /// The labels.
        labels: Labels,
    },
    /// A binary operator found several series where one is needed. Match on more labels, or allow
    /// many on one side by `group_left` or `group_right`.
    #[error("several series of the {side} side match the labels {labels}")]
    ManyMatches {
        /// `left` or `right`.
        side: &'static str,
        /// The labels that were matched on.
        labels: Labels,
    },
    /// Info series of one target disagree at one time, and none is newer. Choose metrics and labels
    /// by the second argument of `info`.
    #[error("info series of the target {target} have conflicting labels")]
    ConflictingInfo {
        /// The labels `instance` and `job`.
        target: Labels,
    },
    /// A parameter of a function or aggregation has an impossible value. Correct it.
    #[error("{parameter} of {function} is wrong: {reason}")]
    Parameter {
        /// The function or aggregation.
        function: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The reason.
        reason: String,
    },
    /// A matcher or a label of the result can't be built. The inner error says what to correct.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The storage can't be read. Try again later.
    #[error("the storage can't be read")]
    Storage(#[from] StorageError),
}

impl QueryError {
    /// Whether the same query may succeed later: it took too long, or the storage can't be read.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Storage(_))
    }

    /// The `errorType` of Prometheus' HTTP interface: `bad_data`, `execution`,
    /// `timeout` or `canceled`.
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::Syntax { .. }
            | Self::Unsupported { .. }
            | Self::TooLarge { .. }
            | Self::EndBeforeStart
            | Self::StepNotPositive
            | Self::TooManySteps { .. }
            | Self::Label(LabelError::Pattern { .. }) => "bad_data",
            Self::Timeout { .. } => "timeout",
            Self::Stopped => "canceled",
            _ => "execution",
        }
    }

    /// The HTTP status that Prometheus sends for this error.
    pub fn status(&self) -> u16 {
        match self.error_type() {
            "bad_data" => 400,
            "timeout" => 503,
            "canceled" => 499,
            _ => 422,
        }
    }
}
