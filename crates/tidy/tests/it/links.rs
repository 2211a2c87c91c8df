//! The relative links in the workspace's Markdown lead to files and headings that exist.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use tidy::workspace;

/// The anchor that a Markdown viewer gives a heading. Of a link, only the text counts.
fn anchor(heading: &str) -> String {
    let target = Regex::new(r"\]\([^)]*\)").expect("a pattern");
    let heading = target.replace_all(heading, "");
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter
            .is_alphanumeric()
            .then(|| letter.to_ascii_lowercase()),
    });
    kept.collect()
}

fn has_heading(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).expect("a page");
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#').trim()) == wanted)
}

/// The links of a page, without those to other hosts and to items of the documentation.
fn links(text: &str) -> Vec<String> {
    let inline = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let defined = Regex::new(r"(?m)^\[[^\]]+\]: (\S+)$").expect("a pattern");
    let found = inline
        .captures_iter(text)
        .chain(defined.captures_iter(text));
    let found = found.map(|link| link[1].to_owned());
    found.filter(|link| !link.contains(':')).collect()
}

#[test]
fn links_in_markdown_lead_somewhere() {
    let root = workspace::root();
    let folders = [
        "benches", "crates", "docs", "examples", "fixtures", "reports", "schema",
    ];
    let pages = folders
        .map(|folder| workspace::files(&root.join(folder)))
        .concat();
    let top = [
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
    ];
    let pages = pages.into_iter().chain(top.map(|page| root.join(page)));
    let pages: Vec<PathBuf> = pages
        .filter(|page| page.extension().is_some_and(|extension| extension == "md"))
        .collect();
    let (mut count, mut dead) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let is_page = target
                .extension()
                .is_some_and(|extension| extension == "md");
            let leads = target.exists()
                && (heading.is_empty() || !is_page || has_heading(&target, heading));
            if !leads {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count >= 100, "{count} links");
    assert_eq!(dead, Vec::<String>::new());
}
