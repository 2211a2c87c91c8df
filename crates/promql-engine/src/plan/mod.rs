//! A checked query. Every function is resolved and every matcher is compiled. Each field has
//! exactly the type of operand that its operation takes, so evaluation has no impossible cases.

mod aggregate;
mod binary;
mod call;
mod computed_duration;
mod depth;
mod durations;
mod escapes;
mod extent;
mod info;
mod lower;
mod names;
mod patterns;
mod selector;

use regex::bytes::Regex;

pub(super) use extent::{Extent, is_marked};
pub(super) use lower::{lower, tree};
pub(super) use selector::matchers_of;

use super::functions::{BucketFunction, Elementwise, WindowFunction};
use crate::{Labels, Matcher};

/// A query of any type.
#[derive(Debug)]
pub(super) enum Plan {
    Scalar(Scalar),
    Vector(Vector),
    Matrix(Matrix),
    String(String),
}

/// An expression with one value at each step.
#[derive(Debug)]
pub(super) enum Scalar {
    Number(f64),
    Time,
    OfQuery(OfQuery),
    OfVector(Box<Vector>),
    Negated(Box<Scalar>),
    /// A number between 0 and 1. Any other is an error that names the parameter.
    Factor {
        operand: Box<Scalar>,
        parameter: &'static str,
    },
    /// The lesser or the greater of two numbers.
    Extreme {
        function: fn(f64, f64) -> f64,
        left: Box<Scalar>,
        right: Box<Scalar>,
    },
    Binary {
        operator: Operator,
        left: Box<Scalar>,
        right: Box<Scalar>,
    },
}

/// A part of the query's times.
#[derive(Clone, Copy, Debug)]
pub(super) enum OfQuery {
    Start,
    End,
    Step,
    Range,
}

/// An expression with one value per series at each step.
#[derive(Debug)]
pub(super) enum Vector {
    Selector(Selector),
    /// The times of the samples that a selector finds, in seconds.
    TimestampOf(Selector),
    /// The time of the step, in seconds, for each series with a value there.
    TimeOf(Box<Vector>),
    OfScalar(Scalar),
    Elementwise {
        function: Elementwise,
        operand: Box<Vector>,
        parameters: Vec<Scalar>,
    },
    Window {
        function: WindowFunction,
        keeps_name: bool,
        operand: Matrix,
        parameters: Vec<Scalar>,
    },
    Aggregate {
        aggregation: Aggregation,
        grouping: Grouping,
        operand: Box<Vector>,
    },
    WithScalar {
        operator: Operator,
        bool: bool,
        scalar: Scalar,
        on_left: bool,
        operand: Box<Vector>,
    },
    Joined {
        operator: Operator,
        bool: bool,
        left: Box<Vector>,
        right: Box<Vector>,
        join: Join,
    },
    Set {
        operator: SetOperator,
        left: Box<Vector>,
        right: Box<Vector>,
        matching: Grouping,
    },
    LabelReplace {
        operand: Box<Vector>,
        replacement: Replacement,
    },
    LabelJoin {
        operand: Box<Vector>,
        target: String,
        separator: String,
        sources: Vec<String>,
    },
    OfBuckets {
        function: BucketFunction,
        parameters: Vec<Scalar>,
        operand: Box<Vector>,
    },
    QuantilesOfBuckets {
        operand: Box<Vector>,
        label: String,
        quantiles: Vec<Scalar>,
    },
    Absent {
        operand: Box<Vector>,
        labels: Labels,
    },
    AbsentOverTime {
        operand: Matrix,
        labels: Labels,
    },
    Sorted {
        descending: bool,
        operand: Box<Vector>,
    },
    SortedByLabels {
        descending: bool,
        labels: Vec<String>,
        operand: Box<Vector>,
    },
    Info {
        operand: Box<Vector>,
        info: InfoSelector,
    },
    /// The series as an answer shows them, without the names that functions drop.
    Settled(Box<Vector>),
}

/// The second argument of `info`.
#[derive(Debug)]
pub(super) struct InfoSelector {
    /// The matchers of the info metrics' names.
    pub(super) names: Vec<Matcher>,
    /// The matchers of the labels to add. If there are none, all labels are added.
    pub(super) labels: Vec<Matcher>,
    /// The times at which the info series are read.
    pub(super) placement: Placement,
}

/// An expression with a range of samples per series at each step.
#[derive(Debug)]
pub(super) enum Matrix {
    Selector {
        selector: Selector,
        range_ms: i64,
    },
    Subquery {
        operand: Box<Vector>,
        range_ms: i64,
        step_ms: Option<i64>,
        placement: Placement,
    },
}

impl Matrix {
    pub(super) fn extent(&self) -> Extent {
        match self {
            Self::Selector { selector, .. } => selector.extent,
            Self::Subquery { .. } => Extent::Inside,
        }
    }
}

/// Series, and the times at which they are read.
#[derive(Debug)]
pub(super) struct Selector {
    pub(super) matchers: Vec<Matcher>,
    pub(super) placement: Placement,
    pub(super) extent: Extent,
}

/// The modifiers `offset` and `@`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) offset_ms: i64,
    pub(super) at: Option<At>,
}

/// The time of an `@` modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Start,
    End,
    Time(i64),
}

/// The labels that group or match series.
#[derive(Debug)]
pub(super) enum Grouping {
    /// Only these labels: `by`, `on`.
    Only(Vec<String>),
    /// All labels except these and the metric's name: `without`, `ignoring`.
    Without(Vec<String>),
}

/// How an aggregation reduces a group of series.
#[derive(Debug)]
pub(super) enum Aggregation {
    Fold(fn(&mut [f64]) -> f64),
    Quantile(Scalar),
    Top(Scalar),
    Bottom(Scalar),
    /// The first series of each group, at each step.
    First(Scalar),
    /// This share of the series, chosen by their labels.
    Share(Scalar),
    CountValues(String),
}

/// An operator on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Atan2,
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
}

/// An operator on sets of series.
#[derive(Clone, Copy, Debug)]
pub(super) enum SetOperator {
    And,
    Or,
    Unless,
}

/// How the series of two sides are matched.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) matching: Grouping,
    pub(super) cardinality: Cardinality,
    /// The values of series that one side lacks: of the left, and of the right side.
    pub(super) fill: [Option<f64>; 2],
}

/// How many series of each side may match one another.
#[derive(Debug)]
pub(super) enum Cardinality {
    OneToOne,
    /// `group_left`, with the labels to take from the right side.
    ManyToOne(Vec<String>),
    /// `group_right`, with the labels to take from the left side.
    OneToMany(Vec<String>),
}

/// The parameters of `label_replace`.
#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) target: String,
    pub(super) replacement: String,
    pub(super) source: String,
    pub(super) pattern: Regex,
}
