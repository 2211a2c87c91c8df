//! Queries as texts: `format_query` and `parse_query`.

use axum::response::Response;
use promql_parser::parser;
use tsdb::promql;

use super::answer;
use super::parameters::Parameters;
use super::promql::refused;
use crate::error::ApiError;

/// `GET` and `POST /api/v1/format_query`
pub(super) async fn format_query(parameters: Parameters) -> Result<Response, ApiError> {
    let query = parameters.required("query")?;
    let formatted = promql::format_query(query).map_err(|error| refused(&error))?;
    answer::short(&formatted, &parameters.warnings(&["query"]))
}

/// `GET` and `POST /api/v1/parse_query`: the parser's tree, in the form of Prometheus' own.
pub(super) async fn parse_query(parameters: Parameters) -> Result<Response, ApiError> {
    let query = parameters.required("query")?;
    // The engine bounds the length and the depth of a query. The parser alone does not.
    let formatted = promql::format_query(query).map_err(|error| refused(&error))?;
    // The parser reads no arithmetic with durations. The layout has its value.
    let tree = parser::parse(query).or_else(|_| parser::parse(&formatted));
    let tree = tree.map_err(ApiError::invalid)?;
    answer::short(&tree, &parameters.warnings(&["query"]))
}
