use std::fs;
use std::path::Path;

/// The start of the names of files with samples that are not sent yet.
const UNSENT: &str = "unsent-";

/// Warns of samples that an earlier run with `--forward-to` has not sent. A server that forwards sends
/// them and removes their files; any other leaves them.
pub(crate) fn warn_of_left(folder: &Path) {
    let files = left(folder);
    if !files.is_empty() {
        tracing::warn!(
            folder = %folder.display(),
            files = files.join(" "),
            "samples wait to be forwarded: start with --forward-to to send them, or see OPERATING.md"
        );
    }
}

/// The names of the files with unsent samples, sorted.
fn left(folder: &Path) -> Vec<String> {
    // A folder that can't be read fails the opening of the series, which says why.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<String> = names.filter(|name| name.starts_with(UNSENT)).collect();
    files.sort();
    files
}
