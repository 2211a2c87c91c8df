//! Finds dead links: `links` in the workspace's Markdown, and `links target/doc` in the rendered documentation
//! of its crates, after `cargo doc --workspace --no-deps --all-features`.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use regex::Regex;
use tidy::{markdown, workspace};

fn main() -> ExitCode {
    let (links, dead) = match std::env::args_os().nth(1) {
        Some(doc) => in_documentation(Path::new(&doc)),
        None => in_markdown(),
    };
    println!("{links} links, {} dead", dead.len());
    for link in &dead {
        println!("{link}");
    }
    ExitCode::from(u8::from(links == 0 || !dead.is_empty()))
}

/// The number of links, and the dead ones.
type Found = (usize, BTreeSet<String>);

fn in_markdown() -> Found {
    let (mut links, mut dead) = (0, BTreeSet::new());
    for page in workspace::files(&workspace::root()) {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let (count, found) = markdown::dead_links(&page);
        links += count;
        dead.extend(
            found
                .iter()
                .map(|link| format!("{}: {link}", page.display())),
        );
    }
    (links, dead)
}

fn in_documentation(doc: &Path) -> Found {
    let crates = fs::read_dir(workspace::root().join("crates")).expect("the crates");
    let names = crates.map(|entry| entry.expect("a crate").file_name());
    let folders = names.map(|name| doc.join(name.to_string_lossy().replace('-', "_")));
    let mut pages = Pages::default();
    let (mut links, mut dead) = (0, BTreeSet::new());
    for folder in folders.filter(|folder| folder.is_dir()) {
        for page in workspace::files(&folder) {
            if page.extension().is_none_or(|extension| extension != "html") {
                continue;
            }
            for link in pages.read(&page).links.clone() {
                links += 1;
                if !pages.has(&page, &link) {
                    dead.insert(format!("{}: {link}", page.display()));
                }
            }
        }
    }
    (links, dead)
}

/// The pages that were read.
#[derive(Default)]
struct Pages(HashMap<PathBuf, Page>);

/// The anchors of a page, and its links to other pages of the documentation.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: BTreeSet<String>,
}

impl Pages {
    fn read(&mut self, path: &Path) -> &Page {
        self.0.entry(path.to_path_buf()).or_insert_with(|| {
            let html = fs::read_to_string(path).unwrap_or_default();
            Page::parse(&html)
        })
    }

    /// Whether the page and the place that the link names exist.
    fn has(&mut self, page: &Path, link: &str) -> bool {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = match path {
            "" => page.to_path_buf(),
            path => resolve(page.parent().expect("a folder"), path),
        };
        let is_source = target.components().any(|part| part.as_os_str() == "src");
        // The lines of a source page are made by its script.
        target.exists()
            && (anchor.is_empty() || is_source || self.read(&target).anchors.contains(anchor))
    }
}

impl Page {
    fn parse(html: &str) -> Self {
        let attribute = |name: &str| {
            let pattern = Regex::new(&format!(r#"\b{name}="([^"]*)""#)).expect("a pattern");
            let found = pattern.captures_iter(html).map(|found| found[1].to_owned());
            found.collect::<BTreeSet<_>>()
        };
        let mut links = attribute("href");
        links.retain(|link| !link.is_empty() && !link.contains(':') || link.starts_with("file:"));
        Self {
            anchors: attribute("id"),
            links,
        }
    }
}

/// The path from this folder, without `..`.
fn resolve(folder: &Path, path: &str) -> PathBuf {
    let mut resolved = folder.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    match resolved.is_dir() {
        true => resolved.join("index.html"),
        false => resolved,
    }
}
