//! Patterns mean what they mean to Go's `regexp`, which is what Prometheus uses.

use series_model::{MatchOp, Matcher};

const TEXTS: &str = include_str!("re2/texts.txt");
/// Made by `re2/main.go`.
const VERDICTS: &str = include_str!("re2/verdicts.txt");

fn texts() -> Vec<String> {
    let lines = TEXTS.lines();
    lines.map(|line| line.replace("\\n", "\n")).collect()
}

/// Bits of the texts that match, `None` if the pattern is refused.
fn matches(pattern: &str, texts: &[String]) -> Option<u32> {
    let matcher = Matcher::new("label", MatchOp::Matches, pattern).ok()?;
    let bit = |(index, text): (usize, &String)| u32::from(matcher.matches_value(text)) << index;
    Some(texts.iter().enumerate().map(bit).sum())
}

/// `{` that is no repetition and `\Q..\E` were refused; `\w` and `\d` were Unicode, and `&&`, `--` and
/// `\<` operators.
#[test]
fn generated_patterns_match_as_in_go() {
    let texts = texts();
    let wrong: Vec<String> = VERDICTS
        .lines()
        .filter_map(|line| {
            let (pattern, verdict) = line.rsplit_once('\t').expect("two columns");
            let expected = u32::from_str_radix(verdict, 16).ok();
            let actual = matches(pattern, &texts);
            let problem = || format!("{pattern}: {actual:x?} instead of {expected:x?}");
            (actual != expected).then(problem)
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(VERDICTS.lines().count(), 10_000);
}
