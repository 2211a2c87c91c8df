//! Matchers that the parser refuses, and that are hidden from it: patterns, because it takes them for those
//! of the `regex` crate, and braces whose matchers all accept an absent label, as `info` allows them.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use promql_parser::label::MatchOp;
use promql_parser::parser::{Expr, VectorSelector};
use promql_parser::util::unquote_string;
use promql_parser::util::visitor::{ExprVisitorMut, walk_expr_mut};
use regex::Regex;

use super::durations::token;
use crate::{MatchOp as Op, Matcher};

/// Stands for a pattern, before its number: a private character that no pattern begins with. Alone it is
/// the name and the value of a matcher that makes braces acceptable.
const MARK: char = '\u{F8FF}';

/// The patterns of a text that are hidden from the parser, with their places, quotes included. An empty
/// place is one for the matcher that makes braces acceptable.
pub(super) struct Patterns(Vec<(Range<usize>, String)>);

impl Patterns {
    /// Finds the patterns that RE2 understands and the parser does not. The parser reports all others.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Vec::new();
        let (mut at, mut follows_operator, mut follows_comma) = (0, false, false);
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let place = at..at + token(rest, first);
            match first {
                '{' if follows_comma => found.push((place.end..place.end, String::new())),
                '~' => follows_operator = text[..at].ends_with(['=', '!']),
                '#' => {}
                _ if first.is_whitespace() => {}
                '"' | '\'' | '`' if follows_operator => {
                    let pattern = unquote_string(&text[place.clone()]).ok();
                    let hidden = pattern.filter(|pattern| is_hidden(pattern));
                    found.extend(hidden.map(|pattern| (place.clone(), pattern)));
                    follows_operator = false;
                }
                _ => follows_operator = false,
            }
            if first != '#' && !first.is_whitespace() {
                follows_comma = first == ',';
            }
            at = place.end;
        }
        Self(found)
    }

    /// The text without the patterns.
    pub(super) fn hidden_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
        for (index, (place, _)) in self.0.iter().enumerate() {
            out.push_str(&text[copied..place.start]);
            if place.is_empty() {
                out.push_str(&format!("\"{MARK}\"=\"{MARK}\","));
            } else {
                out.push_str(&format!("\"{MARK}{index}\""));
            }
            copied = place.end;
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// Gives the matchers of the tree their patterns back.
    pub(super) fn restore(mut self, tree: &mut Expr) {
        if !self.0.is_empty() {
            let Ok(_) = walk_expr_mut(&mut self, tree);
        }
    }

    fn restore_in(&self, selector: &mut VectorSelector) {
        let is_ours = |name: &str| name.chars().eq([MARK]);
        selector
            .matchers
            .matchers
            .retain(|matcher| !is_ours(&matcher.name));
        let alternatives = selector.matchers.or_matchers.iter_mut().flatten();
        for matcher in selector.matchers.matchers.iter_mut().chain(alternatives) {
            let index = matcher.value.strip_prefix(MARK);
            let pattern = index.and_then(|index| self.0.get(index.parse::<usize>().ok()?));
            if let (Some((_, pattern)), MatchOp::Re(_) | MatchOp::NotRe(_)) = (pattern, &matcher.op)
            {
                matcher.value.clone_from(pattern);
            }
        }
    }
}

impl ExprVisitorMut for Patterns {
    type Error = Infallible;

    fn pre_visit(&mut self, expr: &mut Expr) -> Result<bool, Infallible> {
        match expr {
            Expr::VectorSelector(selector) => self.restore_in(selector),
            Expr::MatrixSelector(range) => self.restore_in(&mut range.vs),
            // The walk leaves out the parameter, as in `topk(scalar(x), y)`.
            Expr::Aggregate(aggregation) => {
                if let Some(parameter) = &mut aggregation.param {
                    walk_expr_mut(self, parameter)?;
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

fn is_hidden(pattern: &str) -> bool {
    Regex::new(&format!("^(?:{pattern})$")).is_err()
        && Matcher::new("label", Op::Matches, pattern).is_ok()
}
