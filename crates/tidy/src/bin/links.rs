//! Finds dead links in the workspace's Markdown. Those of the rendered documentation are rustdoc's own lints.

use std::collections::BTreeSet;
use std::process::ExitCode;

use tidy::{markdown, workspace};

fn main() -> ExitCode {
    let (mut links, mut dead) = (0, BTreeSet::new());
    for page in workspace::files(&workspace::root()) {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let (count, found) = markdown::dead_links(&page);
        links += count;
        let named = |link: &String| format!("{}: {link}", page.display());
        dead.extend(found.iter().map(named));
    }
    println!("{links} links, {} dead", dead.len());
    for link in &dead {
        println!("{link}");
    }
    ExitCode::from(u8::from(links == 0 || !dead.is_empty()))
}
