//! Checks that the figures in the README's table of results also appear in the linked reports.

use std::fs;

use regex::Regex;
use tidy::workspace;

#[test]
fn results_in_the_readme_stand_in_the_reports() {
    let root = workspace::root();
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let link = Regex::new(r"\]\((reports/[a-z-]+\.md)\)").expect("a pattern");
    let figure = Regex::new(r"\d[\d,]*(?:\.\d+)?").expect("a pattern");
    let rows: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with('|') && link.is_match(line))
        .collect();
    assert!(rows.len() >= 10, "the README shows {} results", rows.len());
    for row in rows {
        let page = &link.captures(row).expect("a link")[1];
        let page = fs::read_to_string(root.join(page)).expect("the report");
        let result = row.split('|').nth(2).expect("the result");
        // Skip goals: the report gives them in another column, with a different wording.
        for part in result.split(';').filter(|part| !part.contains("goal")) {
            for found in figure.find_iter(part.split('(').next().unwrap_or(part)) {
                let whole = Regex::new(&format!(r"(?:^|[^\d.,]){}(?:[^\d.,]|$)", found.as_str()));
                assert!(
                    whole.expect("a pattern").is_match(&page),
                    "{} of «{row}»",
                    found.as_str()
                );
            }
        }
    }
}
