//! A duration that is an expression: `26m + 4m`, `2 * step()`.

use promql_parser::parser::token::{T_ADD, T_DIV, T_MOD, T_MUL, T_POW, T_SUB};
use promql_parser::parser::{self, BinaryExpr, Expr};

use super::depth;
use super::durations::{is_word_char, out_of_range, token};
use crate::{QueryError, TimeRange};

/// The functions of an expression, written in any case.
const FUNCTIONS: [&str; 4] = ["step", "range", "min_of", "max_of"];

/// The longest value, in seconds: 2^63 nanoseconds, as in Prometheus.
const MAX_SECONDS: f64 = 9_223_372_036.854_776;

const MS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// An expression, parsed.
pub(super) struct Computed {
    expression: Expr,
    pub(super) needs_times: bool,
}

pub(super) fn is_function(word: &str) -> bool {
    FUNCTIONS.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Parses the text of an expression.
pub(super) fn of(text: &str) -> Result<Computed, QueryError> {
    let (mut cleaned, mut needs_times) = (String::new(), false);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at(token(rest, first));
        rest = after;
        match first {
            '#' => {}
            '0'..='9' | '.' | '+' | '-' | '*' | '/' | '%' | '^' | '(' | ')' | ',' => {
                cleaned.push_str(token);
            }
            _ if first.is_ascii_whitespace() => cleaned.push(first),
            _ if is_word_char(first) && is_function(token) => {
                let name = token.to_ascii_lowercase();
                needs_times |= matches!(name.as_str(), "step" | "range");
                cleaned.push_str(&name);
            }
            // Nothing else reaches the parser, which would take it for a part of a query.
            _ => return Err(wrong(format!("unexpected {token} in a duration"))),
        }
    }
    let expression = parser::parse(&cleaned).map_err(wrong)?;
    depth::check_levels(&expression)?;
    Ok(Computed {
        expression,
        needs_times,
    })
}

impl Computed {
    /// The literal of the value, in whole ms.
    pub(super) fn literal(
        &self,
        times: Option<TimeRange>,
        is_offset: bool,
    ) -> Result<String, QueryError> {
        let times = match times {
            None if self.needs_times => return Ok("1s".to_owned()),
            None => TimeRange::default(),
            Some(times) => times,
        };
        let seconds = value(&self.expression, times)?;
        if !seconds.is_finite() {
            return Err(wrong("a duration is NaN or infinite"));
        }
        if seconds <= 0.0 && !is_offset {
            return Err(wrong("duration must be greater than 0"));
        }
        if seconds.abs() > MAX_SECONDS {
            return Err(out_of_range());
        }
        let milliseconds = (seconds * 1000.0) as i64;
        let sign = if milliseconds < 0 { "-" } else { "" };
        // In two units, because the parser takes at most 2^32 of a unit.
        let (days, rest) = (
            milliseconds.unsigned_abs() / MS_PER_DAY,
            milliseconds.unsigned_abs() % MS_PER_DAY,
        );
        Ok(match milliseconds {
            0 => "0".to_owned(),
            _ => format!("{sign}{days}d{rest}ms"),
        })
    }
}

fn value(expression: &Expr, times: TimeRange) -> Result<f64, QueryError> {
    let milliseconds = match expression {
        Expr::Paren(inner) => return value(&inner.expr, times),
        Expr::NumberLiteral(number) => return Ok(number.val),
        Expr::Unary(negated) => return Ok(-value(&negated.expr, times)?),
        Expr::Binary(operation) => return combined(operation, times),
        Expr::Call(call) => match (call.func.name, call.args.args.as_slice()) {
            ("step", _) => times.step_ms,
            ("range", _) => times.end_ms.saturating_sub(times.start_ms),
            ("min_of", [left, right]) => return Ok(value(left, times)?.min(value(right, times)?)),
            ("max_of", [left, right]) => return Ok(value(left, times)?.max(value(right, times)?)),
            (name, _) => return Err(wrong(format!("unexpected {name} in a duration"))),
        },
        other => return Err(wrong(format!("unexpected {other} in a duration"))),
    };
    Ok(milliseconds as f64 / 1000.0)
}

fn combined(operation: &BinaryExpr, times: TimeRange) -> Result<f64, QueryError> {
    let (left, right) = (value(&operation.lhs, times)?, value(&operation.rhs, times)?);
    Ok(match operation.op.id() {
        T_ADD => left + right,
        T_SUB => left - right,
        T_MUL => left * right,
        T_DIV | T_MOD if right == 0.0 => return Err(wrong("a duration is divided by zero")),
        T_DIV => left / right,
        T_MOD => left % right,
        T_POW => left.powf(right),
        _ => return Err(wrong(format!("unexpected {} in a duration", operation.op))),
    })
}

fn wrong(reason: impl Into<String>) -> QueryError {
    let reason = reason.into();
    QueryError::Syntax { reason }
}
