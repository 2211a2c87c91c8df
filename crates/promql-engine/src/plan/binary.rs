//! Binary operators.

use promql_parser::parser::token::{
    T_ADD, T_ATAN2, T_DIV, T_EQLC, T_GTE, T_GTR, T_LAND, T_LOR, T_LSS, T_LTE, T_LUNLESS, T_MOD,
    T_MUL, T_NEQ, T_POW, T_SUB,
};
use promql_parser::parser::{BinModifier, BinaryExpr, VectorMatchCardinality};

use super::aggregate::grouping;
use super::lower::{expected, plan, unsupported, vector};
use super::{Cardinality, Grouping, Join, Operator, Plan, Scalar, SetOperator, Vector};
use crate::QueryError;

/// The plan of a binary operation.
pub(super) fn lower(expr: &BinaryExpr) -> Result<Plan, QueryError> {
    let modifier = expr.modifier.as_ref();
    match set_operator(expr.op.id()) {
        Some(_) if has_fill(modifier) => Err(QueryError::Syntax {
            reason: format!("filling in missing series is not allowed for {}", expr.op),
        }),
        Some(operator) => Ok(Plan::Vector(Vector::Set {
            operator,
            left: Box::new(vector(&expr.lhs)?),
            right: Box::new(vector(&expr.rhs)?),
            matching: matching(modifier),
        })),
        None => arithmetic(expr),
    }
}

fn arithmetic(expr: &BinaryExpr) -> Result<Plan, QueryError> {
    let operator =
        operator(expr.op.id()).ok_or_else(|| unsupported(format!("the operator {}", expr.op)))?;
    let bool = expr.return_bool();
    let with_scalar = |scalar, on_left, operand| {
        let operand = Box::new(operand);
        Plan::Vector(Vector::WithScalar {
            operator,
            bool,
            scalar,
            on_left,
            operand,
        })
    };
    Ok(match (plan(&expr.lhs)?, plan(&expr.rhs)?) {
        (Plan::Scalar(_), _) | (_, Plan::Scalar(_)) if has_fill(expr.modifier.as_ref()) => {
            return Err(QueryError::Syntax {
                reason: "filling in missing series is only allowed between instant vectors".into(),
            });
        }
        (Plan::Scalar(left), Plan::Scalar(right)) => Plan::Scalar(Scalar::Binary {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        }),
        (Plan::Vector(operand), Plan::Scalar(scalar)) => with_scalar(scalar, false, operand),
        (Plan::Scalar(scalar), Plan::Vector(operand)) => with_scalar(scalar, true, operand),
        (Plan::Vector(left), Plan::Vector(right)) => Plan::Vector(Vector::Joined {
            operator,
            bool,
            left: Box::new(left),
            right: Box::new(right),
            join: join(expr.modifier.as_ref()),
        }),
        // Reports the left operand if it has a wrong type, otherwise the right one.
        (Plan::Scalar(_) | Plan::Vector(_), wrong) | (wrong, _) => {
            return Err(expected("scalar or instant vector", &wrong));
        }
    })
}

fn join(modifier: Option<&BinModifier>) -> Join {
    let cardinality = match modifier.map(|modifier| &modifier.card) {
        Some(VectorMatchCardinality::ManyToOne(labels)) => {
            Cardinality::ManyToOne(labels.labels.clone())
        }
        Some(VectorMatchCardinality::OneToMany(labels)) => {
            Cardinality::OneToMany(labels.labels.clone())
        }
        // Many-to-many exists only for the set operators, which `lower` has handled.
        _ => Cardinality::OneToOne,
    };
    Join {
        matching: matching(modifier),
        cardinality,
        fill: fill(modifier),
    }
}

/// The values of series that the left and the right side lack.
fn fill(modifier: Option<&BinModifier>) -> [Option<f64>; 2] {
    modifier.map_or([None; 2], |modifier| {
        [modifier.fill_values.lhs, modifier.fill_values.rhs]
    })
}

fn has_fill(modifier: Option<&BinModifier>) -> bool {
    fill(modifier).iter().any(Option::is_some)
}

/// Without a modifier, all labels except the name are compared.
fn matching(modifier: Option<&BinModifier>) -> Grouping {
    match modifier.and_then(|modifier| modifier.matching.as_ref()) {
        None => Grouping::Without(Vec::new()),
        labels => grouping(labels),
    }
}

fn set_operator(token: u16) -> Option<SetOperator> {
    Some(match token {
        T_LAND => SetOperator::And,
        T_LOR => SetOperator::Or,
        T_LUNLESS => SetOperator::Unless,
        _ => return None,
    })
}

fn operator(token: u16) -> Option<Operator> {
    Some(match token {
        T_ADD => Operator::Add,
        T_SUB => Operator::Subtract,
        T_MUL => Operator::Multiply,
        T_DIV => Operator::Divide,
        T_MOD => Operator::Modulo,
        T_POW => Operator::Power,
        T_ATAN2 => Operator::Atan2,
        T_EQLC => Operator::Equal,
        T_NEQ => Operator::NotEqual,
        T_GTR => Operator::Greater,
        T_LSS => Operator::Less,
        T_GTE => Operator::GreaterOrEqual,
        T_LTE => Operator::LessOrEqual,
        _ => return None,
    })
}
