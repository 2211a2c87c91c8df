use std::collections::BTreeMap;

use promql_parser::parser::Expr;
use promql_parser::util::{ExprVisitor, walk_expr};
use series_model::push_json_string;

use super::QueryError;
use super::json::{push_labels, push_list, push_time};
use super::number::push_number;
use super::plan::{matchers_of, tree};
use crate::{Exemplar, Labels, Matcher};

/// The matchers of each selector in a query: the series that the query reads.
///
/// # Errors
/// [`QueryError::Syntax`], [`QueryError::TooLarge`] or [`QueryError::Unsupported`];
/// [`QueryError::Label`] for a matcher that the engine rejects.
///
/// ```
/// use promql_engine::{Matcher, parse_selectors};
///
/// let selectors = parse_selectors("rate(errors[5m]) / rate(requests[5m])")?;
/// assert_eq!(selectors, [[Matcher::metric("errors")], [Matcher::metric("requests")]]);
/// # Ok::<(), promql_engine::QueryError>(())
/// ```
pub fn parse_selectors(text: &str) -> Result<Vec<Vec<Matcher>>, QueryError> {
    let mut selectors = Selectors(Vec::new());
    walk_expr(&mut selectors, &tree(text, None)?.0)?;
    Ok(selectors.0)
}

struct Selectors(Vec<Vec<Matcher>>);

impl ExprVisitor for Selectors {
    type Error = QueryError;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, QueryError> {
        match expr {
            Expr::VectorSelector(selector) => self.0.push(matchers_of(selector)?),
            Expr::MatrixSelector(range) => self.0.push(matchers_of(&range.vs)?),
            // The walk leaves out the parameter, as in `topk(scalar(x), y)`.
            Expr::Aggregate(aggregation) => {
                if let Some(parameter) = &aggregation.param {
                    walk_expr(self, parameter)?;
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

/// The body that Prometheus sends for these exemplars:
/// `{"status":"success","data":[{"seriesLabels":…,"exemplars":[…]}]}`.
pub fn exemplars_to_json(exemplars: &BTreeMap<Labels, Vec<Exemplar>>) -> String {
    let mut out = r#"{"status":"success","data":"#.to_owned();
    push_list(&mut out, exemplars, |out, (series, exemplars)| {
        out.push_str(r#"{"seriesLabels":"#);
        push_labels(out, series);
        out.push_str(r#","exemplars":"#);
        push_list(out, exemplars, push_exemplar);
        out.push('}');
    });
    out.push('}');
    out
}

fn push_exemplar(out: &mut String, exemplar: &Exemplar) {
    out.push_str(r#"{"labels":"#);
    push_labels(out, &exemplar.labels);
    let mut value = String::new();
    push_number(&mut value, exemplar.sample.value);
    out.push_str(r#","value":"#);
    push_json_string(out, &value);
    out.push_str(r#","timestamp":"#);
    push_time(out, exemplar.sample.timestamp_ms);
    out.push('}');
}
