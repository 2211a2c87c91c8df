//! Limits how many of the wordings in `tidy::phrases` the workspace's prose may use.

use std::fs;
use std::path::{Path, PathBuf};

use tidy::{phrases, prose, workspace};

/// Maximum number of such wordings per 1,000 words of prose. Other storage engines in Rust have 0
/// to 0.42.
const CEILING: f64 = 1.0;

#[test]
fn prose_of_each_crate_stays_below_the_ceiling() {
    let root = workspace::root();
    let crates = fs::read_dir(root.join("crates")).expect("the crates");
    let crates = crates
        .map(|entry| entry.expect("a crate").path())
        .filter(|path| path.is_dir());
    for folder in crates.chain(["benches", "schema"].map(|folder| root.join(folder))) {
        check(&folder, &workspace::files(&folder));
    }
}

#[test]
fn prose_of_the_workspaces_pages_stays_below_the_ceiling() {
    let root = workspace::root();
    let pages = [
        "README.md",
        "CHANGELOG.md",
        "crates/README.md",
        "fixtures/README.md",
    ];
    check(&root, &pages.map(|page| root.join(page)));
}

fn check(folder: &Path, files: &[PathBuf]) {
    let (mut words, mut found) = (0, Vec::new());
    for path in files {
        let Ok(content) = fs::read_to_string(path) else {
            continue;
        };
        for paragraph in prose::paragraphs(path, &content) {
            words += paragraph.text.split_whitespace().count();
            for phrase in phrases::find(&paragraph.text) {
                found.push(format!("{}:{}: {phrase}", path.display(), paragraph.line));
            }
        }
    }
    let rate = found.len() as f64 * 1_000.0 / words.max(1) as f64;
    let folder = folder.display();
    println!(
        "{folder}: {} phrases in {words} words, {rate:.2} per 1,000",
        found.len()
    );
    assert!(
        rate <= CEILING,
        "{folder}: {rate:.2} per 1,000 words\n{}",
        found.join("\n")
    );
}
