use super::QueryError;
use super::plan::{Extent, Placement, Plan, Selector, Vector, lower};
use crate::Matcher;

/// The matchers of a series selector, `up{job="node"}`, as in the `match[]` parameter of
/// Prometheus' HTTP interface.
///
/// # Errors
/// [`QueryError::Syntax`] for a query that is not a plain selector, and every error of
/// [`Query::parse`](super::Query::parse).
pub fn parse_selector(text: &str) -> Result<Vec<Matcher>, QueryError> {
    match lower(text, None)?.0 {
        Plan::Vector(Vector::Selector(Selector {
            matchers,
            placement:
                Placement {
                    offset_ms: 0,
                    at: None,
                },
            extent: Extent::Inside,
        })) => Ok(matchers),
        _ => Err(QueryError::Syntax {
            reason: "expected a series selector".into(),
        }),
    }
}
