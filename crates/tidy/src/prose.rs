//! Extracts the prose of a file: comments, error texts, and Markdown outside code blocks.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// One paragraph, list item or table row, with its lines joined by spaces.
pub struct Paragraph {
    /// The number of its first line, counted from 1.
    pub line: usize,
    /// Its text, without comment and list markers.
    pub text: String,
}

/// The prose of a file. Empty unless the path ends in `.rs`, `.sql` or `.md`.
pub fn paragraphs(path: &Path, content: &str) -> Vec<Paragraph> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            let mut found = comments(content, "//");
            found.extend(error_texts(content));
            found
        }
        Some("sql") => comments(content, "--"),
        Some("md") => join(content.lines().map(Some)),
        _ => Vec::new(),
    }
}

fn comments(content: &str, mark: &str) -> Vec<Paragraph> {
    join(content.lines().map(|line| {
        let text = line.trim_start().strip_prefix(mark)?;
        Some(text.strip_prefix(['/', '!']).unwrap_or(text))
    }))
}

/// The texts of `#[error("..")]`, which users read too.
fn error_texts(content: &str) -> Vec<Paragraph> {
    static ERROR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"#\[error\(\s*"((?:[^"\\]|\\.)*)""#).expect("a pattern"));
    let found = ERROR.captures_iter(content).map(|error| {
        let text = error.get(1).expect("the text");
        let line = content[..text.start()].lines().count();
        Paragraph {
            line,
            text: text.as_str().to_owned(),
        }
    });
    found.collect()
}

/// Joins lines into paragraphs and skips fenced code. `None` is a line without prose.
fn join<'a>(lines: impl Iterator<Item = Option<&'a str>>) -> Vec<Paragraph> {
    static ITEM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:[-*]|\d+\.|#+|\|)\s*").expect("a pattern"));
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut in_code, mut goes_on) = (false, false);
    for (index, line) in lines.enumerate() {
        let Some(line) = line else {
            (in_code, goes_on) = (false, false);
            continue;
        };
        let text = line.trim();
        if text.starts_with("```") {
            (in_code, goes_on) = (!in_code, false);
            continue;
        }
        if in_code || text.is_empty() {
            goes_on = false;
            continue;
        }
        let item = ITEM.find(text).map_or(0, |mark| mark.end());
        match found.last_mut() {
            Some(paragraph) if goes_on && item == 0 => {
                paragraph.text.push(' ');
                paragraph.text.push_str(text);
            }
            _ => found.push(Paragraph {
                line: index + 1,
                text: text[item..].to_owned(),
            }),
        }
        goes_on = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str, content: &str) -> Vec<(usize, String)> {
        let found = paragraphs(Path::new(path), content);
        found
            .into_iter()
            .map(|paragraph| (paragraph.line, paragraph.text))
            .collect()
    }

    #[test]
    fn comment_lines_join_and_code_is_left_out() {
        let source = "//! One\n//! two.\n//!\n//! ```\n//! code\n//! ```\nfn f() {} // not a line\n/// - item\n";
        let expected = [(1, "One two.".to_owned()), (8, "item".to_owned())];
        assert_eq!(texts("a.rs", source), expected);
    }

    #[test]
    fn error_texts_and_sql_comments_are_prose() {
        assert_eq!(
            texts("a.rs", "#[error(\n    \"too long\"\n)]\nA,"),
            [(2, "too long".to_owned())]
        );
        assert_eq!(
            texts("a.sql", "-- Adds.\nSELECT 1;\n"),
            [(1, "Adds.".to_owned())]
        );
    }

    #[test]
    fn markdown_rows_and_items_are_paragraphs() {
        let page = "# Title\n\ntext\nmore\n- one\n- two\n```\ncode\n```\n";
        let expected = [(1, "Title"), (3, "text more"), (5, "one"), (6, "two")];
        assert_eq!(
            texts("a.md", page),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }
}
