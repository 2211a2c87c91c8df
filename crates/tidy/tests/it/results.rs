//! The figures in the README's table of results stand in the reports that it links.

use std::fs;

use regex::Regex;
use tidy::workspace;

/// A result is one row of the report's goals: its figure, its goal if the README names it, and
/// whether the goal is met.
#[test]
fn results_in_the_readme_stand_in_the_reports() {
    let root = workspace::root();
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let link = Regex::new(r"\]\((reports/[a-z-]+\.md)\)").expect("a pattern");
    let figure = Regex::new(r"\d+(?:,\d{3})*(?:\.\d+)?").expect("a pattern");
    let rows: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with('|') && link.is_match(line))
        .collect();
    assert!(rows.len() >= 10, "the README shows {} results", rows.len());
    for row in rows {
        let page = &link.captures(row).expect("a link")[1];
        let page = fs::read_to_string(root.join(page)).expect("the report");
        let cell = row.split('|').nth(2).expect("the result");
        // A goal belongs to the figure before it.
        for result in cell.replace("; goal", " goal").split(';') {
            let verdict = if result.contains("missed") {
                "| no |"
            } else {
                "| yes |"
            };
            let figures: Vec<Regex> = figure
                .find_iter(result)
                .map(|found| format!(r"(?:^|[^\d.,]){}(?:[^\d.,]|$)", found.as_str()))
                .map(|pattern| Regex::new(&pattern).expect("a pattern"))
                .collect();
            let stands = page.lines().any(|line| {
                line.ends_with(verdict) && figures.iter().all(|figure| figure.is_match(line))
            });
            assert!(stands, "no goal of the report has «{result}»");
        }
    }
}
