//! The arguments of `info`: series, and label matchers in braces.

use promql_parser::parser::Expr;
use promql_parser::parser::value::ValueType;

use super::selector::{matchers_of, placement};
use super::{At, InfoSelector, Placement};
use crate::QueryError;
use crate::{METRIC_NAME, MatchOp, Matcher};

/// The info metric that is used if the query names none.
const DEFAULT: &str = "target_info";

/// The plan of the second argument, or of a call without it.
pub(super) fn lower(series: &Expr, argument: Option<&Expr>) -> Result<InfoSelector, QueryError> {
    let matchers = argument.map_or(Ok(Vec::new()), matchers)?;
    let (mut names, labels): (Vec<_>, Vec<_>) = matchers
        .into_iter()
        .partition(|matcher| matcher.name() == METRIC_NAME);
    if names.is_empty() {
        names.push(Matcher::metric(DEFAULT));
    }
    let is_negated = |name: &Matcher| matches!(name.op(), MatchOp::NotEqual | MatchOp::NotMatches);
    if names.iter().all(is_negated) {
        // Without this, all metrics but those would count as info metrics.
        names.push(Matcher::new(METRIC_NAME, MatchOp::Matches, ".+_info")?);
    }
    Ok(InfoSelector {
        names,
        labels,
        placement: common_placement(series),
    })
}

fn matchers(argument: &Expr) -> Result<Vec<Matcher>, QueryError> {
    match argument {
        Expr::Paren(inner) => matchers(&inner.expr),
        Expr::VectorSelector(selector)
            if selector.name.is_none() && selector.offset.is_none() && selector.at.is_none() =>
        {
            matchers_of(selector)
        }
        _ => Err(QueryError::Syntax {
            reason: "the second argument of info must be label matchers in braces".into(),
        }),
    }
}

/// The modifiers of all selectors in an expression, if they are the same. Otherwise none.
fn common_placement(series: &Expr) -> Placement {
    let mut all = Vec::new();
    push_placements(series, Placement::default(), &mut all);
    match all.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => *first,
        _ => Placement::default(),
    }
}

/// Appends the modifiers of the selectors in an expression. A vector without a selector, such as
/// `vector(1)`, counts as one without modifiers.
fn push_placements(expr: &Expr, outer: Placement, out: &mut Vec<Placement>) {
    if matches!(expr.value_type(), ValueType::Scalar | ValueType::String) {
        return;
    }
    let before = out.len();
    match expr {
        Expr::VectorSelector(selector) => {
            out.push(within(
                outer,
                placement(selector.offset.as_ref(), selector.at.as_ref()),
            ));
        }
        Expr::MatrixSelector(range) => {
            out.push(within(
                outer,
                placement(range.vs.offset.as_ref(), range.vs.at.as_ref()),
            ));
        }
        Expr::Subquery(subquery) => {
            let own = placement(subquery.offset.as_ref(), subquery.at.as_ref());
            push_placements(&subquery.expr, within(outer, own), out);
        }
        Expr::Paren(inner) => push_placements(&inner.expr, outer, out),
        Expr::Unary(negated) => push_placements(&negated.expr, outer, out),
        Expr::Aggregate(aggregation) => push_placements(&aggregation.expr, outer, out),
        Expr::Binary(operation) => {
            push_placements(&operation.lhs, outer, out);
            push_placements(&operation.rhs, outer, out);
        }
        Expr::Call(call) => {
            // The second argument of an inner `info` is not read on its own.
            let count = if call.func.name == "info" {
                1
            } else {
                usize::MAX
            };
            let arguments = call.args.args.iter().take(count);
            arguments.for_each(|argument| push_placements(argument, outer, out));
        }
        _ => {}
    }
    if out.len() == before {
        out.push(Placement::default());
    }
}

/// The modifiers of a selector inside a sub-query, combined with those of the sub-query. An inner
/// `@` makes the outer ones irrelevant. If it names a time, the offset is subtracted from that
/// time.
fn within(outer: Placement, inner: Placement) -> Placement {
    match inner.at {
        Some(At::Time(time)) => Placement {
            offset_ms: 0,
            at: Some(At::Time(time.saturating_sub(inner.offset_ms))),
        },
        Some(_) => inner,
        None => Placement {
            offset_ms: inner.offset_ms.saturating_add(outer.offset_ms),
            at: outer.at,
        },
    }
}
