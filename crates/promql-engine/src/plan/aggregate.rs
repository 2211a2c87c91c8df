//! Aggregations.

use promql_parser::parser::token::{
    T_AVG, T_BOTTOMK, T_COUNT, T_COUNT_VALUES, T_GROUP, T_LIMIT_RATIO, T_LIMITK, T_MAX, T_MIN,
    T_QUANTILE, T_STDDEV, T_STDVAR, T_SUM, T_TOPK,
};
use promql_parser::parser::{AggregateExpr, LabelModifier};

use super::lower::{scalar, string, unsupported, vector};
use super::{Aggregation, Grouping, Scalar, Vector};
use crate::QueryError;
use crate::functions::statistics;

/// The plan of an aggregation.
pub(super) fn lower(expr: &AggregateExpr) -> Result<Vector, QueryError> {
    Ok(Vector::Aggregate {
        aggregation: aggregation(expr)?,
        grouping: grouping(expr.modifier.as_ref()),
        operand: Box::new(vector(&expr.expr)?),
    })
}

fn aggregation(expr: &AggregateExpr) -> Result<Aggregation, QueryError> {
    Ok(match expr.op.id() {
        T_SUM => Aggregation::Fold(|values| statistics::sum(values)),
        T_AVG => Aggregation::Fold(|values| statistics::mean(values)),
        T_MIN => Aggregation::Fold(|values| statistics::min(values)),
        T_MAX => Aggregation::Fold(|values| statistics::max(values)),
        T_COUNT => Aggregation::Fold(|values| values.len() as f64),
        T_GROUP => Aggregation::Fold(|_| 1.0),
        T_STDVAR => Aggregation::Fold(|values| statistics::variance(values)),
        T_STDDEV => Aggregation::Fold(|values| statistics::variance(values).sqrt()),
        T_QUANTILE => Aggregation::Quantile(parameter(expr)?),
        T_TOPK => Aggregation::Top(parameter(expr)?),
        T_BOTTOMK => Aggregation::Bottom(parameter(expr)?),
        T_LIMITK => Aggregation::First(parameter(expr)?),
        T_LIMIT_RATIO => Aggregation::Share(parameter(expr)?),
        T_COUNT_VALUES => Aggregation::CountValues(label(expr)?),
        _ => return Err(unsupported(format!("the aggregation {}", expr.op))),
    })
}

fn parameter(expr: &AggregateExpr) -> Result<Scalar, QueryError> {
    scalar(expr.param.as_ref().ok_or_else(missing)?)
}

fn label(expr: &AggregateExpr) -> Result<String, QueryError> {
    let label = string(expr.param.as_ref().ok_or_else(missing)?)?;
    if label.is_empty() {
        return Err(QueryError::Parameter {
            function: "count_values",
            parameter: "the label",
            reason: "it is empty".into(),
        });
    }
    Ok(label)
}

fn missing() -> QueryError {
    QueryError::Syntax {
        reason: "the aggregation lacks its parameter".into(),
    }
}

/// The labels of a `by`, `without`, `on` or `ignoring`.
pub(super) fn grouping(modifier: Option<&LabelModifier>) -> Grouping {
    match modifier {
        // Without a modifier, all series form one group.
        None => Grouping::Only(Vec::new()),
        Some(LabelModifier::Include(labels)) => Grouping::Only(labels.labels.clone()),
        Some(LabelModifier::Exclude(labels)) => Grouping::Without(labels.labels.clone()),
    }
}
