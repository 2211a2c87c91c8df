use regex::Regex;

use super::one_line;

/// A section of the table: an error type and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The type's public path.
    pub path: String,
    /// The file that declares it, relative to the folder of the crates.
    pub file: String,
    /// The rows in order.
    pub rows: Vec<Row>,
}

impl Section {
    /// The type's name without its module.
    pub fn name(&self) -> &str {
        let last = self.path.rsplit("::").next();
        last.unwrap_or(&self.path)
    }
}

/// An example of a variant. A variant has several rows if not all of its errors are of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// The text of the error. A text that ends with `…` is the start.
    pub text: String,
    /// `yes`, `no`, or `as its source`.
    pub transient: String,
    /// The caller's next step.
    pub advice: String,
}

/// The sections of the page: headings that link a type's file, each with a table of four columns.
pub fn sections(page: &str) -> Vec<Section> {
    let heading = Regex::new(r"^## \[`([^`]+)`\]\(([^)]+)\)$").expect("a pattern");
    let mut sections: Vec<Section> = Vec::new();
    for line in page.lines() {
        if let Some(found) = heading.captures(line) {
            sections.push(Section {
                path: found[1].to_owned(),
                file: found[2].to_owned(),
                rows: Vec::new(),
            });
        } else if let (Some(section), Some(row)) = (sections.last_mut(), row(line)) {
            section.rows.push(row);
        }
    }
    sections
}

/// A line of a table whose first cell is code; the head is none.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line
        .strip_prefix('|')?
        .strip_suffix('|')?
        .split('|')
        .collect();
    let [variant, text, transient, advice] = cells[..] else {
        return None;
    };
    let variant = variant.trim().strip_prefix('`')?.strip_suffix('`')?;
    Some(Row {
        variant: variant.to_owned(),
        text: one_line(text.trim().trim_matches('`')),
        transient: transient.trim().to_owned(),
        advice: one_line(advice),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_the_rows_below_their_heading() {
        let page = "# Errors\n\n## [`a::Error`](a/src/error.rs)\n\n\
            | variant | example | transient | what to do |\n|---|---|---|---|\n\
            | `Full` | `the disk is full` | yes | Make room. |\n";
        let sections = sections(page);
        assert_eq!(sections.len(), 1);
        assert_eq!(
            (sections[0].name(), sections[0].file.as_str()),
            ("Error", "a/src/error.rs")
        );
        let row = Row {
            variant: "Full".to_owned(),
            text: "the disk is full".to_owned(),
            transient: "yes".to_owned(),
            advice: "Make room.".to_owned(),
        };
        assert_eq!(sections[0].rows, [row]);
    }
}
