//! The version, the state of the stores, and the sizes of their files.

use std::path::Path;

use super::measured::Measured;
use super::observed::Observed;
use crate::health::Store;
use crate::stores::SERIES_FOLDER;

const LISTENS: &str = "registrar_store_listens";
const REPLACEMENTS: &str = "registrar_store_listener_replacements_total";

pub(super) const COUNTERS: [(&str, &str); 1] = [(
    REPLACEMENTS,
    "Sessions that took the place of a lost one that listened for other processes' writes",
)];

pub(super) const GAUGES: [(&str, &str); 5] = [
    (
        "registrar_build_info",
        "Always 1; the label tells the version",
    ),
    (
        "registrar_store_answers",
        "Whether the store answered the last health check",
    ),
    (
        "registrar_store_takes_writes",
        "0 if the store's last write failed for a reason of the server, such as a full disk",
    ),
    (
        LISTENS,
        "0 if the store has lost the session that listens for other processes' writes: they come late",
    ),
    (
        "registrar_store_file_bytes",
        "Size of the store's files in the data folder, by kind: data or wal",
    ),
];

/// Adds all of them. Reads the sizes of the files from the file system.
pub(super) fn add(measured: &mut Measured, observed: &Observed) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    measured.add("registrar_build_info", &version, 1.0);
    for store in Store::ALL {
        let label = [("store", store.name())];
        let answers = observed.health.store_answers(store);
        measured.add("registrar_store_answers", &label, f64::from(answers));
        let takes_writes = observed.health.refusal(store).is_none();
        measured.add(
            "registrar_store_takes_writes",
            &label,
            f64::from(takes_writes),
        );
    }
    add_listeners(measured, observed);
    if let Some(folder) = &observed.folder {
        add_files(measured, folder);
    }
}

/// Only for stores that have such a session.
fn add_listeners(measured: &mut Measured, observed: &Observed) {
    for store in Store::ALL {
        let Some(listener) = observed.health.listener(store) else {
            continue;
        };
        let label = [("store", store.name())];
        let listens = listener.lost_since.is_none();
        measured.add(LISTENS, &label, f64::from(listens));
        measured.add(REPLACEMENTS, &label, listener.replacements as f64);
    }
}

/// The files of a store in a folder: their kind, and whether a name belongs to them.
type Files<'f> = (Store, &'f Path, &'static str, fn(&str) -> bool);

/// The sizes of the files in this data folder. Stores in PostgreSQL have none.
fn add_files(measured: &mut Measured, folder: &Path) {
    let (messages, series) = (folder.join("messages"), folder.join(SERIES_FOLDER));
    let files: [Files<'_>; 6] = [
        (Store::Events, folder, "data", |name| {
            name == "events.sqlite"
        }),
        (Store::Events, folder, "wal", |name| {
            name == "events.sqlite-wal"
        }),
        (Store::Messages, &messages, "data", |name| {
            name.ends_with(".sqlite")
        }),
        (Store::Messages, &messages, "wal", |name| {
            name.ends_with(".sqlite-wal")
        }),
        (Store::Series, &series, "data", |name| {
            !is_log(name) && name != "lock"
        }),
        (Store::Series, &series, "wal", is_log),
    ];
    for (store, folder, kind, belongs) in files {
        if let Some(bytes) = bytes(folder, belongs) {
            let labels = [("store", store.name()), ("kind", kind)];
            measured.add("registrar_store_file_bytes", &labels, bytes as f64);
        }
    }
}

/// Segments that are not forwarded yet count as log.
fn is_log(name: &str) -> bool {
    name.starts_with("log-") || name.starts_with("unsent-")
}

/// The sum of the sizes of the files with such names; `None` if there is none.
fn bytes(folder: &Path, belongs: fn(&str) -> bool) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let files = entries.filter(|entry| entry.file_name().to_str().is_some_and(belongs));
    let sizes = files
        .filter_map(|file| file.metadata().ok())
        .filter(|file| file.is_file());
    sizes
        .map(|file| file.len())
        .reduce(|one, other| one + other)
}
