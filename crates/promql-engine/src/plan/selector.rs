//! Selectors, ranges and sub-queries.

use std::time::UNIX_EPOCH;

use promql_parser::label::{MatchOp, Matchers};
use promql_parser::parser::{AtModifier, MatrixSelector, Offset, SubqueryExpr, VectorSelector};

use super::lower::{unsupported, vector};
use super::{At, Extent, Matrix, Placement, Selector, extent};
use crate::QueryError;
use crate::labels::is_of_metric;
use crate::time::whole_milliseconds;
use crate::{Labels, MatchOp as Op, Matcher};

/// The matchers of a selector, the metric's name included.
pub(crate) fn matchers_of(selector: &VectorSelector) -> Result<Vec<Matcher>, QueryError> {
    let mut matchers = Vec::new();
    if let Some(name) = &selector.name {
        matchers.push(Matcher::metric(name));
    }
    push_matchers(&mut matchers, &selector.matchers)?;
    Ok(matchers)
}

/// The plan of a selector.
pub(super) fn lower(selector: &VectorSelector) -> Result<Selector, QueryError> {
    let matchers = matchers_of(selector)?;
    if matchers.iter().all(|matcher| matcher.matches_value("")) {
        return Err(QueryError::Syntax {
            reason: "a selector needs a matcher that does not match the empty string".into(),
        });
    }
    Ok(Selector {
        matchers,
        placement: placement(selector.offset.as_ref(), selector.at.as_ref()),
        extent: extent::of(selector),
    })
}

/// The plan of an instant selector.
///
/// # Errors
/// Those of [`lower`]; [`QueryError::Syntax`] for `anchored`, which needs a range.
pub(super) fn lower_instant(selector: &VectorSelector) -> Result<Selector, QueryError> {
    let lowered = lower(selector)?;
    if lowered.extent == Extent::Anchored {
        let reason = "`anchored` needs a range".into();
        return Err(QueryError::Syntax { reason });
    }
    Ok(lowered)
}

/// The plan of a range selector.
pub(super) fn lower_range(range: &MatrixSelector) -> Result<Matrix, QueryError> {
    Ok(Matrix::Selector {
        selector: lower(&range.vs)?,
        range_ms: whole_milliseconds(range.range),
    })
}

/// The plan of a sub-query.
pub(super) fn lower_subquery(subquery: &SubqueryExpr) -> Result<Matrix, QueryError> {
    Ok(Matrix::Subquery {
        operand: Box::new(vector(&subquery.expr)?),
        range_ms: whole_milliseconds(subquery.range),
        step_ms: subquery
            .step
            .map(whole_milliseconds)
            // 0 stands for the default step of the options.
            .filter(|step| *step > 0),
        placement: placement(subquery.offset.as_ref(), subquery.at.as_ref()),
    })
}

/// The labels that a selector fixes: the labels whose only matcher is an equality. The result of
/// `absent` has these labels.
pub(super) fn fixed_labels(selector: &VectorSelector) -> Result<Labels, QueryError> {
    let all = || {
        selector
            .matchers
            .matchers
            .iter()
            .filter(|it| !extent::is_mark(it))
    };
    let once = |name: &str| all().filter(|matcher| matcher.name == name).count() == 1;
    let mut labels = Labels::builder();
    for matcher in all() {
        let equality = matches!(matcher.op, MatchOp::Equal);
        if equality && !is_of_metric(&matcher.name) && once(&matcher.name) {
            labels.label(&matcher.name, &matcher.value);
        }
    }
    Ok(labels.build()?)
}

fn push_matchers(out: &mut Vec<Matcher>, matchers: &Matchers) -> Result<(), QueryError> {
    if !matchers.or_matchers.is_empty() {
        return Err(unsupported("`or` between matchers"));
    }
    for matcher in matchers.matchers.iter().filter(|it| !extent::is_mark(it)) {
        let op = match matcher.op {
            MatchOp::Equal => Op::Equal,
            MatchOp::NotEqual => Op::NotEqual,
            MatchOp::Re(_) => Op::Matches,
            MatchOp::NotRe(_) => Op::NotMatches,
        };
        out.push(Matcher::new(&matcher.name, op, &matcher.value)?);
    }
    Ok(())
}

pub(super) fn placement(offset: Option<&Offset>, at: Option<&AtModifier>) -> Placement {
    let offset_ms = match offset {
        None => 0,
        Some(Offset::Pos(duration)) => whole_milliseconds(*duration),
        Some(Offset::Neg(duration)) => -whole_milliseconds(*duration),
    };
    let at = at.map(|at| match at {
        AtModifier::Start => At::Start,
        AtModifier::End => At::End,
        AtModifier::At(time) => At::Time(match time.duration_since(UNIX_EPOCH) {
            Ok(since) => whole_milliseconds(since),
            // A time before 1970.
            Err(before) => -whole_milliseconds(before.duration()),
        }),
    });
    Placement { offset_ms, at }
}
