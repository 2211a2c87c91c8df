//! Regular expressions over label values. Common simple patterns are recognized and answered
//! without a regular expression engine.

use memchr::memmem::Finder;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::{LabelError, translate_re2};

/// Maximum size of a dense DFA. Larger expressions use the lazy engine.
const DENSE_BYTES: usize = 1 << 20;

/// A pattern that must match a whole value.
#[derive(Clone, Debug)]
pub struct Pattern(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// One of these texts, sorted: `a|b`, `web-[12]`.
    OneOf(Vec<String>),
    /// Values with this prefix: `web-.*`.
    Prefix(String),
    /// Values that contain this text: `.*web.*`.
    Contains(Box<Finder<'static>>),
    /// Any other expression, with the common prefix of all its matches.
    Other(String, Machine),
}

/// A compiled expression.
#[derive(Clone, Debug)]
enum Machine {
    Dense(Box<dense::DFA<Vec<u32>>>),
    Lazy(Regex),
}

impl Pattern {
    /// Compiles a pattern of RE2 in which `.` matches any character.
    pub(crate) fn new(pattern: &str) -> Result<Self, LabelError> {
        let pattern_error = |reason: String| LabelError::Pattern {
            pattern: pattern.to_owned(),
            reason,
        };
        let mut parser = regex_syntax::ParserBuilder::new()
            .dot_matches_new_line(true)
            // For the ASCII `\B`. Values are text, so only whole characters match all the same.
            .utf8(false)
            .build();
        let translated = translate_re2(pattern).map_err(pattern_error)?;
        let hir = parser
            .parse(&translated)
            .map_err(|error| pattern_error(error.to_string()))?;
        if let Some(simple) = simple(&hir) {
            return Ok(Self(simple));
        }
        let machine = Machine::new(&hir).map_err(pattern_error)?;
        Ok(Self(Kind::Other(prefix(&hir), machine)))
    }

    /// The texts that match, sorted, if the pattern is a list of texts.
    pub fn texts(&self) -> Option<&[String]> {
        match &self.0 {
            Kind::OneOf(texts) => Some(texts),
            _ => None,
        }
    }

    /// A common prefix of all matches.
    pub fn prefix(&self) -> &str {
        match &self.0 {
            Kind::Prefix(prefix) | Kind::Other(prefix, _) => prefix,
            Kind::OneOf(_) | Kind::Contains(_) => "",
        }
    }

    /// Whether every value with the [`prefix`](Self::prefix) matches.
    pub fn is_prefix(&self) -> bool {
        matches!(self.0, Kind::Prefix(_))
    }

    /// Whether the whole value matches.
    pub fn is_match(&self, value: &str) -> bool {
        match &self.0 {
            Kind::OneOf(texts) => texts.binary_search_by(|text| (**text).cmp(value)).is_ok(),
            Kind::Prefix(prefix) => value.starts_with(prefix),
            Kind::Contains(part) => part.find(value.as_bytes()).is_some(),
            Kind::Other(_, machine) => machine.is_match(value),
        }
    }
}

impl Machine {
    fn new(hir: &Hir) -> Result<Self, String> {
        let whole = Hir::concat(vec![
            Hir::look(regex_syntax::hir::Look::Start),
            hir.clone(),
            Hir::look(regex_syntax::hir::Look::End),
        ]);
        if let Some(dense) = dense(&whole) {
            return Ok(Self::Dense(Box::new(dense)));
        }
        Regex::builder()
            .build_from_hir(&whole)
            .map(Self::Lazy)
            .map_err(|error| error.to_string())
    }

    fn is_match(&self, value: &str) -> bool {
        // The search may stop early: only whether the value matches counts, not where.
        let input = Input::new(value).anchored(Anchored::Yes).earliest(true);
        match self {
            Self::Dense(dense) => matches!(dense.try_search_fwd(&input), Ok(Some(_))),
            Self::Lazy(regex) => regex.is_match(input),
        }
    }
}

/// Builds a dense DFA, which is the fastest to run but can be huge. Returns `None` beyond
/// [`DENSE_BYTES`].
fn dense(hir: &Hir) -> Option<dense::DFA<Vec<u32>>> {
    let nfa = thompson::Compiler::new().build_from_hir(hir).ok()?;
    let config = dense::Config::new()
        .dfa_size_limit(Some(DENSE_BYTES))
        .determinize_size_limit(Some(DENSE_BYTES))
        .start_kind(StartKind::Anchored);
    let mut builder = dense::Builder::new();
    builder.configure(config).build_from_nfa(&nfa).ok()
}

/// Recognizes patterns that need no automaton.
fn simple(hir: &Hir) -> Option<Kind> {
    if let HirKind::Concat(parts) = hir.kind() {
        match parts.as_slice() {
            [prefix, any] if is_anything(any) => return text(prefix).map(Kind::Prefix),
            [any, part, other] if is_anything(any) && is_anything(other) => {
                let finder = |part: String| Box::new(Finder::new(part.as_bytes()).into_owned());
                return text(part).map(finder).map(Kind::Contains);
            }
            _ => {}
        }
    }
    if is_anything(hir) {
        return Some(Kind::Prefix(String::new()));
    }
    if !hir.properties().look_set().is_empty() {
        // The literals below would ignore assertions such as `^` and `\b`.
        return None;
    }
    let literals = Extractor::new().extract(hir);
    let literals = literals.literals().filter(|_| literals.is_exact())?;
    let texts = literals
        .iter()
        .map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok());
    let mut texts: Vec<String> = texts.collect::<Option<_>>()?;
    texts.sort_unstable();
    texts.dedup();
    Some(Kind::OneOf(texts))
}

fn text(hir: &Hir) -> Option<String> {
    let HirKind::Literal(literal) = hir.kind() else {
        return None;
    };
    String::from_utf8(literal.0.to_vec()).ok()
}

/// Returns `true` for `.*`, greedy or not.
fn is_anything(hir: &Hir) -> bool {
    let HirKind::Repetition(repetition) = hir.kind() else {
        return false;
    };
    let HirKind::Class(Class::Unicode(class)) = repetition.sub.kind() else {
        return false;
    };
    let every = [('\0', char::MAX)];
    let ranges = class.iter().map(|range| (range.start(), range.end()));
    repetition.min == 0 && repetition.max.is_none() && ranges.eq(every)
}

/// Returns the longest prefix that all matches have.
fn prefix(hir: &Hir) -> String {
    let literals = Extractor::new().extract(hir);
    let prefix = literals.longest_common_prefix().unwrap_or_default();
    // The prefix may end within a character. The text before that character is a prefix too.
    let valid = prefix.utf8_chunks().next();
    valid.map_or_else(String::new, |chunk| chunk.valid().to_owned())
}
