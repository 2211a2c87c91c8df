use std::path::{Path, PathBuf};
use std::{env, fs};

use etcetera::{BaseStrategy, choose_base_strategy};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::json;
use uuid::Uuid;

use super::{Dataset, DatasetContent};
use crate::Error;

const SCHEMA: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE datasets (
        id TEXT PRIMARY KEY,
        config TEXT NOT NULL,
        courses TEXT NOT NULL,
        students TEXT NOT NULL,
        enrollments TEXT NOT NULL,
        created_at TEXT NOT NULL
    )";
const SELECT: &str = "SELECT courses, students, enrollments FROM datasets WHERE id = ?1";
const INSERT: &str = "
    INSERT INTO datasets (id, config, courses, students, enrollments, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// A folder with datasets. Each dataset is an SQLite file whose table `datasets` has one row, with
/// the events as JSON.
///
/// The cache uses a file only if the digest of its content is the recorded one. It replaces a file
/// that is missing, damaged or from another version. It writes a new file under a temporary name and
/// then renames it, so any number of processes can share a folder: each sees a complete file or
/// none.
///
/// The files serve programs that read SQL. Reading and checking a file takes longer than
/// [`Dataset::generate`].
#[derive(Clone, Debug)]
pub struct DatasetCache {
    folder: PathBuf,
}

impl DatasetCache {
    /// The environment variable that names the folder.
    pub const FOLDER_VARIABLE: &'static str = "REGISTRAR_CACHE_DIR";

    /// The cache in this folder. The folder is created when needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The cache in the folder from [`DatasetCache::FOLDER_VARIABLE`], or in `registrar` in the
    /// user's cache folder.
    ///
    /// # Errors
    /// [`Error::Cache`] if the variable is not set and the user's cache folder is unknown.
    pub fn of_user() -> Result<Self, Error> {
        if let Some(folder) = env::var_os(Self::FOLDER_VARIABLE).filter(|name| !name.is_empty()) {
            return Ok(Self::in_folder(folder));
        }
        let folders = choose_base_strategy().map_err(|error| failed(Path::new("~"), &error))?;
        Ok(Self::in_folder(folders.cache_dir().join("registrar")))
    }

    /// Reads the dataset from its file, or generates and stores it.
    ///
    /// # Errors
    /// [`Error::Cache`] if the file must be written and can't be.
    pub fn get(&self, dataset: Dataset) -> Result<DatasetContent, Error> {
        if let Some(content) = self.read(dataset) {
            return Ok(content);
        }
        let content = dataset.generate();
        self.write(&content)?;
        Ok(content)
    }

    /// The file of this dataset.
    pub fn file(&self, dataset: Dataset) -> PathBuf {
        self.folder.join(format!("dataset_{}.sqlite", id(dataset)))
    }

    /// Reads the file. Returns `None` on any fault; `get` then replaces the file.
    fn read(&self, dataset: Dataset) -> Option<DatasetContent> {
        // Read-only, so that a missing file is not created here. One thread uses the connection, so
        // it needs no mutex.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.file(dataset), flags).ok()?;
        let columns: [String; 3] = connection
            .query_row(SELECT, [id(dataset)], |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?])
            })
            .ok()?;
        let [courses, students, enrollments] = &columns;
        let content = DatasetContent {
            dataset,
            courses: serde_json::from_str(courses).ok()?,
            students: serde_json::from_str(students).ok()?,
            enrollments: serde_json::from_str(enrollments).ok()?,
        };
        // The digest covers the types, tags and data of all events, so a changed file never passes
        // for the dataset.
        (content.checked_digest()? == dataset.digest()).then_some(content)
    }

    fn write(&self, content: &DatasetContent) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let file = self.file(content.dataset);
        // A unique name: several processes may write the same dataset at once.
        let unfinished = file.with_extension(Uuid::now_v7().to_string());
        let written = write_file(&unfinished, content).map_err(|error| failed(&file, &error));
        let renamed = written
            .and_then(|()| fs::rename(&unfinished, &file).map_err(|error| failed(&file, &error)));
        if renamed.is_err() {
            // If this fails too, a harmless file stays. The first error says more than the second.
            let _ = fs::remove_file(&unfinished);
        }
        renamed
    }
}

/// Writes without a journal and without syncing. If a crash damages the file, its digest no longer
/// matches, and `get` replaces it.
fn write_file(file: &Path, content: &DatasetContent) -> rusqlite::Result<()> {
    let connection = Connection::open(file)?;
    connection.execute_batch(SCHEMA)?;
    let row = params![
        id(content.dataset),
        config(content.dataset),
        to_json(&content.courses),
        to_json(&content.students),
        to_json(&content.enrollments),
        Timestamp::now().to_string(),
    ];
    connection.execute(INSERT, row)?;
    // Dropping the connection would hide an error of the last write.
    connection.close().map_err(|(_, error)| error)
}

fn to_json<T: serde::Serialize>(events: &[T]) -> String {
    serde_json::to_string(events).expect("the events of datasets have a JSON form")
}

/// The dataset's key in the cache: `courses_students_enrollments_capacity`.
fn id(dataset: Dataset) -> String {
    let size = dataset.size();
    format!(
        "{}_{}_{}_{}",
        size.courses, size.students, size.enrollments_asked, size.capacity
    )
}

fn config(dataset: Dataset) -> String {
    let size = dataset.size();
    json!({
        "courses": size.courses,
        "students": size.students,
        "enrollments": size.enrollments_asked,
        "capacity": size.capacity,
        "seed": Dataset::SEED,
        "digest": dataset.digest(),
    })
    .to_string()
}

fn failed(path: &Path, reason: &impl ToString) -> Error {
    Error::Cache {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
