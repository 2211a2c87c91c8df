use super::QueryError;
use super::plan::{is_marked, tree};

/// The query in the usual layout: one space between tokens, and long expressions on several indented
/// lines.
///
/// The query is parsed, but not checked for parts that this engine does not support. The value of a
/// duration takes the place of its arithmetic.
///
/// # Errors
/// [`QueryError::Syntax`] or [`QueryError::TooLarge`]; [`QueryError::Unsupported`] for a duration with
/// `step()` or `range()`, and for `anchored` and `smoothed`.
///
/// ```
/// use promql_engine::format_query;
///
/// assert_eq!(format_query("sum  by(job) (up)")?, "sum by (job) (up)");
/// # Ok::<(), promql_engine::QueryError>(())
/// ```
pub fn format_query(text: &str) -> Result<String, QueryError> {
    let (tree, needs_times) = tree(text, None)?;
    if needs_times {
        let what = "the layout of a duration with `step()` or `range()`".into();
        return Err(QueryError::Unsupported { what });
    }
    let layout = tree.prettify();
    if is_marked(&layout) {
        let what = "the layout of `anchored` and `smoothed`".into();
        return Err(QueryError::Unsupported { what });
    }
    Ok(layout)
}
