use std::path::Path;

use tsdb::{Db, DbOptions, DuplicatePolicy, Error, OpenOptions, Retention};

/// Opens the series. Samples may come in any order, have no age limit, and keep their duplicates.
/// Above `bytes`, the oldest samples are deleted.
pub(super) fn open(folder: Option<&Path>, bytes: usize) -> Result<Db, Error> {
    let options = DbOptions {
        // The JSON interface returns all points with the same time.
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
