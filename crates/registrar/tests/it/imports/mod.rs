mod files;
mod tables;

use std::path::PathBuf;

use tempfile::TempDir;

/// A file with this text, in a folder that is removed with the first value.
fn written(name: &str, text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    (folder, path.display().to_string())
}
