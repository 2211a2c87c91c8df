use super::QueryError;
use super::plan::tree;

/// The query in the usual layout: one space between tokens, and long expressions on several indented
/// lines.
///
/// The query is parsed, but not checked for parts that this engine does not support.
///
/// # Errors
/// [`QueryError::Syntax`] or [`QueryError::TooLarge`].
///
/// ```
/// use promql_engine::format_query;
///
/// assert_eq!(format_query("sum  by(job) (up)")?, "sum by (job) (up)");
/// # Ok::<(), promql_engine::QueryError>(())
/// ```
pub fn format_query(text: &str) -> Result<String, QueryError> {
    Ok(tree(text)?.prettify())
}
