//! The operators on two numbers.

use crate::plan::Operator;

/// The result as a number: 1 or 0 for a comparison.
pub(super) fn number(operator: Operator, left: f64, right: f64) -> f64 {
    match compare(operator, left, right) {
        Some(holds) => f64::from(u8::from(holds)),
        None => calculate(operator, left, right),
    }
}

/// The result as a filter: a comparison keeps the left value if it holds, and drops it if not.
pub(super) fn filter(operator: Operator, left: f64, right: f64) -> Option<f64> {
    match compare(operator, left, right) {
        Some(holds) => holds.then_some(left),
        None => Some(calculate(operator, left, right)),
    }
}

/// Whether the operator is a comparison.
pub(super) fn compares(operator: Operator) -> bool {
    compare(operator, 0.0, 0.0).is_some()
}

fn compare(operator: Operator, left: f64, right: f64) -> Option<bool> {
    Some(match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Greater => left > right,
        Operator::Less => left < right,
        Operator::GreaterOrEqual => left >= right,
        Operator::LessOrEqual => left <= right,
        _ => return None,
    })
}

fn calculate(operator: Operator, left: f64, right: f64) -> f64 {
    match operator {
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Modulo => left % right,
        Operator::Power => left.powf(right),
        Operator::Atan2 => left.atan2(right),
        // Addition. `compare` handles the comparisons, which are the other remaining operators.
        _ => left + right,
    }
}
