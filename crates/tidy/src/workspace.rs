//! The files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's root folder.
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder of crates");
    crates
        .parent()
        .expect("the workspace's folder")
        .to_path_buf()
}

/// The hand-written files below `folder`, sorted by path.
///
/// Skips hidden files and folders, generated folders, golden files and symbolic links. The target
/// of a link is checked at its real path.
///
/// # Panics
///
/// Panics if a folder can't be read.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let entry = entry.expect("a folder's entry");
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_symlink() || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if !matches!(&*name, "target" | "golden" | "node_modules") {
                collect(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}
