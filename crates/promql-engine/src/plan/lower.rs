//! Turns the parser's tree into a checked plan.

use promql_parser::parser::{self, Expr};

use super::patterns::Patterns;
use super::{
    Matrix, Plan, Scalar, Vector, aggregate, binary, call, depth, durations, escapes, extent,
    names, selector,
};
use crate::{QueryError, TimeRange};

/// The plan for a query's text, and whether its durations need the times of the query.
pub(crate) fn lower(text: &str, times: Option<TimeRange>) -> Result<(Plan, bool), QueryError> {
    let (tree, needs_times) = tree(text, times)?;
    let plan = match plan(&tree)? {
        Plan::Matrix(Matrix::Subquery {
            operand,
            range_ms,
            step_ms,
            placement,
        }) => Plan::Matrix(Matrix::Subquery {
            // The samples of a sub-query that is the whole query are the answer.
            operand: Box::new(Vector::Settled(operand)),
            range_ms,
            step_ms,
            placement,
        }),
        plan => plan,
    };
    Ok((plan, needs_times))
}

/// The parser's tree of a query's text, and whether its durations need the times of the query. Without
/// them, one second stands for each duration that does.
pub(crate) fn tree(text: &str, times: Option<TimeRange>) -> Result<(Expr, bool), QueryError> {
    // These checks come before parsing, because the parser recurses without a limit, and panics on
    // long durations.
    depth::check(text)?;
    let text = names::quoted(text);
    let durations = durations::literal(&text, times)?;
    let text = escapes::decoded(&durations.text)?;
    let text = extent::marked(&text)?;
    let patterns = Patterns::of(&text);
    let parsed = parser::parse(&patterns.hidden_in(&text));
    let mut tree = parsed.map_err(|reason| QueryError::Syntax { reason })?;
    depth::check_levels(&tree)?;
    patterns.restore(&mut tree);
    Ok((tree, durations.needs_times))
}

/// The plan for an expression of any type.
pub(super) fn plan(expr: &Expr) -> Result<Plan, QueryError> {
    Ok(match expr {
        Expr::Paren(inner) => plan(&inner.expr)?,
        Expr::NumberLiteral(number) => Plan::Scalar(Scalar::Number(number.val)),
        Expr::StringLiteral(string) => Plan::String(string.val.clone()),
        Expr::VectorSelector(series) => {
            Plan::Vector(Vector::Selector(selector::lower_instant(series)?))
        }
        Expr::MatrixSelector(range) => Plan::Matrix(selector::lower_range(range)?),
        Expr::Subquery(subquery) => Plan::Matrix(selector::lower_subquery(subquery)?),
        Expr::Unary(negated) => negate(plan(&negated.expr)?)?,
        Expr::Binary(operation) => binary::lower(operation)?,
        Expr::Aggregate(aggregation) => Plan::Vector(aggregate::lower(aggregation)?),
        Expr::Call(called) => call::lower(called)?,
        Expr::Extension(_) => return Err(unsupported("an extension of the language")),
    })
}

fn negate(operand: Plan) -> Result<Plan, QueryError> {
    match operand {
        Plan::Scalar(scalar) => Ok(Plan::Scalar(Scalar::Negated(Box::new(scalar)))),
        Plan::Vector(operand) => Ok(Plan::Vector(Vector::Elementwise {
            function: |value, _| Some(-value),
            operand: Box::new(operand),
            parameters: Vec::new(),
        })),
        other => Err(expected("scalar or instant vector", &other)),
    }
}

/// The plan for an expression that must be a scalar.
pub(super) fn scalar(expr: &Expr) -> Result<Scalar, QueryError> {
    match plan(expr)? {
        Plan::Scalar(scalar) => Ok(scalar),
        other => Err(expected("scalar", &other)),
    }
}

/// The plan for an expression that must be an instant vector.
pub(super) fn vector(expr: &Expr) -> Result<Vector, QueryError> {
    match plan(expr)? {
        Plan::Vector(vector) => Ok(vector),
        other => Err(expected("instant vector", &other)),
    }
}

/// The plan for an expression that must be a range vector.
pub(super) fn matrix(expr: &Expr) -> Result<Matrix, QueryError> {
    match plan(expr)? {
        Plan::Matrix(matrix) => Ok(matrix),
        other => Err(expected("range vector", &other)),
    }
}

/// The text of an expression that must be a string.
pub(super) fn string(expr: &Expr) -> Result<String, QueryError> {
    match plan(expr)? {
        Plan::String(text) => Ok(text),
        other => Err(expected("string", &other)),
    }
}

/// The error for an operand of a wrong type.
pub(super) fn expected(wanted: &str, found: &Plan) -> QueryError {
    let found = match found {
        Plan::Scalar(_) => "scalar",
        Plan::Vector(_) => "instant vector",
        Plan::Matrix(_) => "range vector",
        Plan::String(_) => "string",
    };
    QueryError::Syntax {
        reason: format!("expected a {wanted}, found a {found}"),
    }
}

/// The error for an unsupported part of the language.
pub(super) fn unsupported(what: impl Into<String>) -> QueryError {
    QueryError::Unsupported { what: what.into() }
}
