//! Limits how many of the wordings in `tidy::phrases` the workspace's prose may use. Fails with a list of
//! them if a crate, or the pages at the root, has too many.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tidy::{phrases, prose, workspace};

/// Maximum number of such wordings per 1,000 words of prose. Other storage engines in Rust have 0
/// to 0.42.
const CEILING: f64 = 1.0;

/// The pages that no crate or folder holds.
const PAGES: [&str; 6] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "crates/README.md",
    "fixtures/README.md",
];

fn main() -> ExitCode {
    let root = workspace::root();
    let crates = fs::read_dir(root.join("crates")).expect("the crates");
    let crates = crates
        .map(|entry| entry.expect("a crate").path())
        .filter(|path| path.is_dir());
    let mut plain = true;
    for folder in crates.chain(["benches", "docs", "schema"].map(|folder| root.join(folder))) {
        plain &= is_plain(&folder, &workspace::files(&folder));
    }
    plain &= is_plain(&root, &PAGES.map(|page| root.join(page)));
    ExitCode::from(u8::from(!plain))
}

/// Whether the prose of these files stays below the ceiling. Prints its rate, and what is above it.
fn is_plain(folder: &Path, files: &[PathBuf]) -> bool {
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
    let (folder, count) = (folder.display(), found.len());
    println!("{folder}: {count} phrases in {words} words, {rate:.2} per 1,000");
    if rate <= CEILING {
        return true;
    }
    println!("at most {CEILING} per 1,000 words:\n{}", found.join("\n"));
    false
}
