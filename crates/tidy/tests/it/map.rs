//! Checks that the paths in the architecture page exist.

use std::fs;

use regex::Regex;
use tidy::workspace;

#[test]
fn paths_in_the_architecture_page_exist() {
    let crates = workspace::root().join("crates");
    let page = fs::read_to_string(crates.join("README.md")).expect("the architecture page");
    let path = Regex::new(r"`([a-z][a-z0-9-]*/(?:src|tests|[A-Z])[^`]*)`").expect("a pattern");
    let paths: Vec<&str> = path
        .captures_iter(&page)
        .map(|found| found.get(1).expect("a path").as_str())
        .collect();
    assert!(paths.len() >= 20, "the page names {} paths", paths.len());
    for path in paths {
        assert!(crates.join(path).exists(), "{path}");
    }
}
