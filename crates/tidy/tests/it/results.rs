//! The figures in the README's table of results, and in the verdicts of the reports' index, stand in the
//! reports that they link.

use std::fs;
use std::path::Path;

use regex::Regex;
use tidy::workspace;

/// Before a run of the peers, a result is one row of a report's goals: its figure, its goal if the
/// README names it, and whether the goal is met. Such a run writes the table, and each of its lines
/// stands in `reports/peers.md` too.
#[test]
fn results_in_the_readme_stand_in_the_reports() {
    let root = workspace::root();
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let (_, rest) = readme.split_once("<!-- results -->").expect("the results");
    let (results, _) = rest
        .split_once("<!-- end of results -->")
        .expect("the end of the results");
    let rows: Vec<&str> = results
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();
    if results.contains("](reports/peers.md)") {
        let page = fs::read_to_string(root.join("reports/peers.md")).expect("the report");
        assert!(rows.len() > 2, "the README shows {} lines", rows.len());
        for row in rows {
            let stands = page.lines().any(|line| line == row);
            assert!(stands, "reports/peers.md has no line «{row}»");
        }
    } else {
        goals_stand_in_the_reports(root.as_ref(), &rows);
    }
}

fn goals_stand_in_the_reports(root: &Path, lines: &[&str]) {
    let link = Regex::new(r"\]\((reports/[a-z-]+\.md)\)").expect("a pattern");
    let figure = Regex::new(r"\d+(?:,\d{3})*(?:\.\d+)?").expect("a pattern");
    let rows: Vec<&&str> = lines.iter().filter(|line| link.is_match(line)).collect();
    assert!(rows.len() >= 10, "the README shows {} results", rows.len());
    for row in rows {
        let page = &link.captures(row).expect("a link")[1];
        let page = fs::read_to_string(root.join(page)).expect("the report");
        let cell = row.split('|').nth(2).expect("the result");
        // A goal belongs to the figure before it.
        for result in cell.replace("; goal", " goal").split(';') {
            let verdict = match result {
                missed if missed.contains("missed") => "| no |",
                open if open.contains("undecided") => "| undecided |",
                _ => "| yes |",
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

/// Each verdict is an item of the list at the top, and ends with the link of its page.
#[test]
fn figures_of_the_verdicts_stand_in_their_pages() {
    let reports = workspace::root().join("reports");
    let index = fs::read_to_string(reports.join("README.md")).expect("the index");
    let (verdicts, _) = index.split_once("\n| Page |").expect("the pages");
    let item = Regex::new(r"(?m)^\d+\. ").expect("a pattern");
    let link = Regex::new(r"\]\(([a-z-]+\.md)\)").expect("a pattern");
    let figure = Regex::new(r"\d+(?:,\d{3})*(?:\.\d+)?").expect("a pattern");
    let verdicts: Vec<&str> = item.split(verdicts).skip(1).collect();
    assert!(verdicts.len() >= 10, "{} verdicts", verdicts.len());
    for verdict in verdicts {
        let page = &link.captures(verdict).expect("a link")[1];
        let page = fs::read_to_string(reports.join(page)).expect("the page");
        for found in figure.find_iter(verdict) {
            let pattern = format!(r"(?:^|[^\d.,]){}(?:[^\d]|$)", found.as_str());
            let stands = Regex::new(&pattern).expect("a pattern").is_match(&page);
            assert!(stands, "the page lacks {} of «{verdict}»", found.as_str());
        }
    }
}
