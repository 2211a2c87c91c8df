use std::path::Path;
use std::time::Duration;

use tsdb::{Db, DbOptions, Durability, Error, Limits, NewSeriesLimit, OpenOptions, Retention};

use crate::settings::{SeriesDurability, Settings};

/// The interval of syncs with [`SeriesDurability::Periodic`].
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The interval of the limit on new series.
const NEW_SERIES_INTERVAL: Duration = Duration::from_secs(60);

/// The name of the folder in the data folder.
pub(crate) const FOLDER: &str = "series";

/// Opens the series. Samples may come in any order and have no age limit; of several with the same
/// time, the last one stays. Above the limit of the settings, the oldest samples are deleted.
pub(super) fn open(folder: Option<&Path>, settings: &Settings) -> Result<Db, Error> {
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
    let Some(folder) = folder else {
        return Ok(Db::new(options));
    };
    let options = OpenOptions {
        db: options,
        durability: durability(settings.series_durability),
        ..OpenOptions::default()
    };
    Db::open(folder.join(FOLDER), options)
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
