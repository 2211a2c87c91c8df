use std::path::Path;
use std::time::Duration;

use tsdb::storage::Folder;
use tsdb::{
    Db, DbOptions, Durability, Error, Limits, LogTail, NewSeriesLimit, OpenOptions, Retention,
};

use crate::forward::warn_of_left;
use crate::settings::{SeriesDurability, Settings};

/// The interval of syncs with [`SeriesDurability::Periodic`].
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The interval of the limit on new series.
const NEW_SERIES_INTERVAL: Duration = Duration::from_secs(60);

/// The name of the folder in the data folder.
pub(crate) const FOLDER: &str = "series";

/// Opens the series. Samples may come in any order and have no age limit; of several with the same
/// time, the last one stays. Above the limit of the settings, the oldest samples are deleted.
pub(super) fn open(
    folder: Option<&Path>,
    settings: &Settings,
) -> Result<(Db, Option<LogTail>), Error> {
    let options = options(settings);
    if settings.forward_to.is_none() {
        return Ok((open_alone(folder, options)?, None));
    }
    let (db, tail) = match folder {
        Some(folder) => LogTail::open(Folder::lock(folder.join(FOLDER))?, options)?,
        None => LogTail::in_memory(options.db)?,
    };
    Ok((db, Some(tail)))
}

fn open_alone(folder: Option<&Path>, options: OpenOptions) -> Result<Db, Error> {
    match folder.map(|folder| folder.join(FOLDER)) {
        Some(folder) => {
            warn_of_left(&folder);
            Db::open(folder, options)
        }
        None => Ok(Db::new(options.db)),
    }
}

fn options(settings: &Settings) -> OpenOptions {
    let options = DbOptions {
        retention: Retention {
            age_ms: None,
            bytes: Some(settings.series_bytes),
        },
        limits: Limits {
            new_series: settings.max_new_series.map(|max| NewSeriesLimit {
                max,
                interval: NEW_SERIES_INTERVAL,
            }),
            ..Limits::default()
        },
        ..DbOptions::default()
    };
    OpenOptions {
        db: options,
        durability: durability(settings.series_durability),
        ..OpenOptions::default()
    }
}

/// In every mode, a process that is killed loses no acknowledged sample.
fn durability(chosen: SeriesDurability) -> Durability {
    match chosen {
        SeriesDurability::Commit => Durability::Commit,
        SeriesDurability::Periodic => Durability::WriteThrough {
            sync_every: Some(SYNC_EVERY),
        },
        SeriesDurability::Unsynced => Durability::WriteThrough { sync_every: None },
    }
}
