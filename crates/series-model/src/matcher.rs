use std::fmt;
use std::sync::Arc;

use crate::pattern::Pattern;
use crate::{LabelError, Labels, METRIC_NAME};

/// A condition on one label. A series without the label counts as having an empty value.
#[derive(Clone)]
pub struct Matcher {
    name: String,
    op: MatchOp,
    value: String,
    /// The compiled pattern, for `=~` and `!~`. Clones share it, so that they need not compile
    /// again.
    pattern: Option<Arc<Pattern>>,
}

/// The operator of a matcher with its operand.
#[derive(Clone, Copy, Debug)]
pub enum Condition<'a> {
    /// `=`
    Equal(&'a str),
    /// `!=`
    NotEqual(&'a str),
    /// `=~`
    Matches(&'a Pattern),
    /// `!~`
    NotMatches(&'a Pattern),
}

/// The operator of a [`Matcher`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOp {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`: the regular expression matches the whole value. `.` matches any character.
    Matches,
    /// `!~`
    NotMatches,
}

impl Matcher {
    /// Creates the condition `name op value`, and compiles the pattern if the operator needs one.
    ///
    /// # Errors
    /// [`LabelError::Pattern`] if the pattern is not a regular expression, or is too large.
    pub fn new(
        name: impl Into<String>,
        op: MatchOp,
        value: impl Into<String>,
    ) -> Result<Self, LabelError> {
        let value = value.into();
        let pattern = match op {
            MatchOp::Equal | MatchOp::NotEqual => None,
            MatchOp::Matches | MatchOp::NotMatches => Some(Arc::new(Pattern::new(&value)?)),
        };
        Ok(Self {
            name: name.into(),
            op,
            value,
            pattern,
        })
    }

    /// Creates the condition `name = value`.
    pub fn equal(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            op: MatchOp::Equal,
            value: value.into(),
            pattern: None,
        }
    }

    /// Creates the condition that the metric name is `metric`.
    pub fn metric(metric: impl Into<String>) -> Self {
        Self::equal(METRIC_NAME, metric)
    }

    /// The name of the label.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator.
    pub fn op(&self) -> MatchOp {
        self.op
    }

    /// The value or pattern.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns `true` if a series with `labels` matches.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_value(labels.get(&self.name).unwrap_or_default())
    }

    /// Returns `true` if this value of the label matches. Pass an empty value for a missing label.
    pub fn matches_value(&self, value: &str) -> bool {
        match self.condition() {
            Condition::Equal(wanted) => value == wanted,
            Condition::NotEqual(unwanted) => value != unwanted,
            Condition::Matches(pattern) => pattern.is_match(value),
            Condition::NotMatches(pattern) => !pattern.is_match(value),
        }
    }

    /// The operator with its operand, for an index that answers each of them in its own way.
    pub fn condition(&self) -> Condition<'_> {
        match (&self.pattern, self.op) {
            (Some(pattern), MatchOp::Matches) => Condition::Matches(pattern),
            (Some(pattern), _) => Condition::NotMatches(pattern),
            (None, MatchOp::NotEqual) => Condition::NotEqual(&self.value),
            (None, _) => Condition::Equal(&self.value),
        }
    }
}

impl fmt::Display for MatchOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::NotMatches => "!~",
        })
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:?}", self.name, self.op, self.value)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        // The compiled pattern follows from the operator and the value.
        (&self.name, self.op, &self.value) == (&other.name, other.op, &other.value)
    }
}
