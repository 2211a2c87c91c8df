use std::path::Path;

use tsdb::{Db, DbOptions, DuplicatePolicy, Error, OpenOptions, Retention};

/// The series: kept however old, taken in any order, duplicates kept, the oldest given up where
/// they need more than so many bytes.
pub(super) fn open(folder: Option<&Path>, bytes: usize) -> Result<Db, Error> {
    let options = DbOptions {
        duplicates: DuplicatePolicy::KeepAll,
        out_of_order_window_ms: None,
        retention: Retention {
            age_ms: None,
            bytes: Some(bytes),
        },
        ..DbOptions::default()
    };
    match folder {
        None => Ok(Db::new(options)),
        Some(folder) => Db::open(
            folder.join("series"),
            OpenOptions {
                db: options,
                ..OpenOptions::default()
            },
        ),
    }
}
