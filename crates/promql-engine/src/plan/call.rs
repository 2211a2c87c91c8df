//! Function calls.

use promql_parser::parser::{Call, Expr};
use regex::bytes::Regex;
use series_model::translate_re2;

use super::lower::{matrix, scalar, string, unsupported, vector};
use super::{Extent, Matrix, OfQuery, Plan, Replacement, Scalar, Vector, info, selector};
use crate::Labels;
use crate::QueryError;
use crate::functions::{
    WindowFunction, anchored_function, bucket_function, elementwise, smoothed_function,
    window_function,
};

/// The plan of a call. The parser has checked the number of arguments.
pub(super) fn lower(call: &Call) -> Result<Plan, QueryError> {
    let name = call.func.name;
    let arguments = Arguments(call);
    Ok(match scalar_function(name, &arguments)? {
        Some(scalar) => Plan::Scalar(scalar),
        None => Plan::Vector(vector_function(name, &arguments)?),
    })
}

fn scalar_function(name: &str, arguments: &Arguments<'_>) -> Result<Option<Scalar>, QueryError> {
    Ok(Some(match name {
        "time" => Scalar::Time,
        "pi" => Scalar::Number(std::f64::consts::PI),
        "start" => Scalar::OfQuery(OfQuery::Start),
        "end" => Scalar::OfQuery(OfQuery::End),
        "step" => Scalar::OfQuery(OfQuery::Step),
        "range" => Scalar::OfQuery(OfQuery::Range),
        "min_of" => extreme(elementwise::lesser, arguments)?,
        "max_of" => extreme(elementwise::greater, arguments)?,
        "scalar" => Scalar::OfVector(Box::new(vector(arguments.get(0)?)?)),
        _ => return Ok(None),
    }))
}

fn extreme(function: fn(f64, f64) -> f64, arguments: &Arguments<'_>) -> Result<Scalar, QueryError> {
    Ok(Scalar::Extreme {
        function,
        left: Box::new(scalar(arguments.get(0)?)?),
        right: Box::new(scalar(arguments.get(1)?)?),
    })
}

fn vector_function(name: &str, arguments: &Arguments<'_>) -> Result<Vector, QueryError> {
    if let Some(function) = elementwise::named(name) {
        return Ok(Vector::Elementwise {
            function,
            operand: Box::new(arguments.vector_or_time()?),
            parameters: arguments.scalars(1..arguments.count())?,
        });
    }
    if let Some(function) = bucket_function(name) {
        // The vector comes after the parameters.
        let last = arguments.count().saturating_sub(1);
        return Ok(Vector::OfBuckets {
            function,
            parameters: arguments.scalars(0..last)?,
            operand: Box::new(vector(arguments.get(last)?)?),
        });
    }
    if let Some(function) = window_function(name) {
        return window(name, function, arguments);
    }
    match name {
        "vector" => Ok(Vector::OfScalar(scalar(arguments.get(0)?)?)),
        "timestamp" => Ok(match vector(arguments.get(0)?)? {
            // Samples of any other expression have the time of the step.
            Vector::Selector(selector) => Vector::TimestampOf(selector),
            operand => Vector::TimeOf(Box::new(operand)),
        }),
        "sort" | "sort_desc" => Ok(Vector::Sorted {
            descending: name == "sort_desc",
            operand: Box::new(vector(arguments.get(0)?)?),
        }),
        "sort_by_label" | "sort_by_label_desc" => Ok(Vector::SortedByLabels {
            descending: name == "sort_by_label_desc",
            labels: arguments.strings(1)?,
            operand: Box::new(vector(arguments.get(0)?)?),
        }),
        "info" => Ok(Vector::Info {
            operand: Box::new(vector(arguments.get(0)?)?),
            info: info::lower(arguments.get(0)?, arguments.optional(1))?,
        }),
        "histogram_quantiles" => Ok(Vector::QuantilesOfBuckets {
            operand: Box::new(vector(arguments.get(0)?)?),
            label: label_name("histogram_quantiles", string(arguments.get(1)?)?)?,
            quantiles: arguments.scalars(2..arguments.count())?,
        }),
        "absent" => Ok(Vector::Absent {
            operand: Box::new(vector(arguments.get(0)?)?),
            labels: fixed_labels(arguments.get(0)?)?,
        }),
        "absent_over_time" => Ok(Vector::AbsentOverTime {
            operand: inside(name, matrix(arguments.get(0)?)?)?,
            labels: fixed_labels(arguments.get(0)?)?,
        }),
        "label_replace" => label_replace(arguments),
        "label_join" => label_join(arguments),
        _ => Err(unsupported(format!("the function {name}"))),
    }
}

/// The range is the argument that is not a scalar: the second of `quantile_over_time`, otherwise
/// the first.
fn window(
    name: &str,
    function: WindowFunction,
    arguments: &Arguments<'_>,
) -> Result<Vector, QueryError> {
    let (range, parameters) = match name {
        "quantile_over_time" => (1, 0..1),
        _ => (0, 1..arguments.count()),
    };
    let operand = matrix(arguments.get(range)?)?;
    Ok(Vector::Window {
        function: match operand.extent() {
            Extent::Inside => function,
            Extent::Anchored => anchored_function(name).ok_or_else(|| unfit(name, ANCHORED))?,
            Extent::Smoothed => smoothed_function(name).ok_or_else(|| unfit(name, SMOOTHED))?,
        },
        // These return samples of the series itself, so its name still applies.
        keeps_name: matches!(name, "last_over_time" | "first_over_time"),
        operand,
        parameters: match name {
            "double_exponential_smoothing" => vec![
                factor(arguments.get(1)?, "the smoothing factor")?,
                factor(arguments.get(2)?, "the trend factor")?,
            ],
            _ => arguments.scalars(parameters)?,
        },
    })
}

/// What the modifiers of ranges apply to.
const ANCHORED: &str = "`anchored` applies to changes, delta, increase, rate and resets";
const SMOOTHED: &str = "`smoothed` applies to delta, increase and rate";

fn unfit(function: &str, rule: &str) -> QueryError {
    let reason = format!("{rule}, not to {function}");
    QueryError::Syntax { reason }
}

/// A range without a modifier.
fn inside(function: &str, operand: Matrix) -> Result<Matrix, QueryError> {
    match operand.extent() {
        Extent::Inside => Ok(operand),
        Extent::Anchored => Err(unfit(function, ANCHORED)),
        Extent::Smoothed => Err(unfit(function, SMOOTHED)),
    }
}

fn factor(argument: &Expr, parameter: &'static str) -> Result<Scalar, QueryError> {
    let operand = Box::new(scalar(argument)?);
    Ok(Scalar::Factor { operand, parameter })
}

fn label_replace(arguments: &Arguments<'_>) -> Result<Vector, QueryError> {
    let text = |index: usize| string(arguments.get(index)?);
    // As in Prometheus, the pattern is anchored, and a dot matches a line feed.
    let translated = translate_re2(&text(4)?);
    let pattern = translated.and_then(|pattern| {
        Regex::new(&format!("^(?s:{pattern})$")).map_err(|error| error.to_string())
    });
    let pattern = pattern.map_err(|reason| QueryError::Parameter {
        function: "label_replace",
        parameter: "the pattern",
        reason,
    })?;
    let replacement = Replacement {
        target: label_name("label_replace", text(1)?)?,
        replacement: text(2)?,
        source: text(3)?,
        pattern,
    };
    Ok(Vector::LabelReplace {
        operand: Box::new(vector(arguments.get(0)?)?),
        replacement,
    })
}

fn label_join(arguments: &Arguments<'_>) -> Result<Vector, QueryError> {
    Ok(Vector::LabelJoin {
        operand: Box::new(vector(arguments.get(0)?)?),
        target: label_name("label_join", string(arguments.get(1)?)?)?,
        separator: string(arguments.get(2)?)?,
        sources: arguments.strings(3)?,
    })
}

fn label_name(function: &'static str, name: String) -> Result<String, QueryError> {
    if name.is_empty() {
        let reason = "it is empty".into();
        return Err(QueryError::Parameter {
            function,
            parameter: "the target label",
            reason,
        });
    }
    Ok(name)
}

/// The labels that `absent` and `absent_over_time` give to their result: those that the selector
/// fixes.
fn fixed_labels(argument: &Expr) -> Result<Labels, QueryError> {
    match argument {
        Expr::Paren(inner) => fixed_labels(&inner.expr),
        Expr::VectorSelector(selector) => selector::fixed_labels(selector),
        Expr::MatrixSelector(range) => selector::fixed_labels(&range.vs),
        // Any other expression fixes no labels.
        _ => Ok(Labels::default()),
    }
}

struct Arguments<'a>(&'a Call);

impl<'a> Arguments<'a> {
    fn count(&self) -> usize {
        self.0.args.args.len()
    }

    fn optional(&self, index: usize) -> Option<&'a Expr> {
        self.0.args.args.get(index).map(AsRef::as_ref)
    }

    fn get(&self, index: usize) -> Result<&'a Expr, QueryError> {
        self.optional(index).ok_or_else(|| QueryError::Syntax {
            reason: format!("{} lacks argument {}", self.0.func.name, index + 1),
        })
    }

    /// The first argument. A call of a function on times can omit it. The function then uses the
    /// time of the evaluation.
    fn vector_or_time(&self) -> Result<Vector, QueryError> {
        match self.count() {
            0 => Ok(Vector::OfScalar(Scalar::Time)),
            _ => vector(self.get(0)?),
        }
    }

    /// The arguments from this one on, all strings.
    fn strings(&self, first: usize) -> Result<Vec<String>, QueryError> {
        let indexes = first..self.count();
        indexes.map(|index| string(self.get(index)?)).collect()
    }

    fn scalars(&self, range: std::ops::Range<usize>) -> Result<Vec<Scalar>, QueryError> {
        range.map(|index| scalar(self.get(index)?)).collect()
    }
}
