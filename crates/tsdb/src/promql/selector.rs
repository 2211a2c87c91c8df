use super::QueryError;
use super::plan::{Placement, Plan, Selector, Vector, lower};
use crate::Matcher;

/// The conditions of a series selector, `up{job="node"}`, as Prometheus' HTTP interface takes them
/// in `match[]`.
///
/// # Errors
/// As [`Query::parse`](super::Query::parse); [`QueryError::Syntax`] for a query that is no plain
/// selector.
pub fn parse_selector(text: &str) -> Result<Vec<Matcher>, QueryError> {
    match lower(text)? {
        Plan::Vector(Vector::Selector(Selector {
            matchers,
            placement:
                Placement {
                    offset_ms: 0,
                    at: None,
                },
        })) => Ok(matchers),
        _ => Err(QueryError::Syntax {
            reason: "expected a series selector".into(),
        }),
    }
}
