use std::fs;
use std::path::{Path, PathBuf};

use dcb_core::AnyStore as EventLog;
use message_store::{AnyStore as Messages, sqlite as files};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, MESSAGES, Place};
use crate::schema::Store;

/// Copies an SQLite file, or the events and messages of a data folder, while a service uses them. Each
/// copy is checked and opens like any other store.
#[derive(clap::Args)]
pub(crate) struct Backup {
    /// The SQLite file or the data folder.
    place: Place,
    /// The new file or folder.
    to: PathBuf,
    /// The store in the file.
    #[arg(long, value_enum, default_value_t = Store::Events)]
    store: Store,
}

#[derive(Serialize)]
struct Copied {
    backups: Vec<PathBuf>,
}

impl std::fmt::Display for Copied {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.backups.iter().map(|path| path.display().to_string());
        write!(
            formatter,
            "copied to {}",
            names.collect::<Vec<_>>().join(", ")
        )
    }
}

impl Backup {
    pub(crate) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let backups = match &self.place {
            Place::Database(_) => {
                return Err(Failure::input(
                    "back up a database with pg_dump or pg_basebackup: its transactions hold the store \
                     together",
                ));
            }
            Place::File(_) => {
                match self.store {
                    Store::Events => copy_events(&self.place, &self.to).await?,
                    Store::Messages => {
                        let store = self.place.messages(None, Access::Look).await?;
                        copy_messages(&store, &self.to).await?;
                    }
                }
                vec![self.to.clone()]
            }
            Place::Folder(folder) => self.copy_folder(folder).await?,
        };
        Ok(output.print(&Copied { backups })?)
    }

    async fn copy_folder(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        // A new folder, so that no copy is taken for one of another time.
        fs::create_dir(&self.to)
            .map_err(|failed| Failure::from(failed).in_context(self.to.display()))?;
        let mut copied = Vec::new();
        let events = self.to.join("events.sqlite");
        copy_events(&self.place, &events).await?;
        copied.push(events);
        let messages = folder.join(MESSAGES);
        if !messages.is_dir() {
            return Ok(copied);
        }
        let to = self.to.join(MESSAGES);
        fs::create_dir(&to)?;
        for entry in fs::read_dir(&messages)? {
            let path = entry?.path();
            // The `-wal` and the `-shm` of a file belong to its copy.
            if path
                .extension()
                .is_some_and(|extension| extension == "sqlite")
            {
                let store =
                    files::SqliteStore::open(files::Config::file(&path).read_only()).await?;
                let copy = to.join(path.file_name().unwrap_or_default());
                store.backup(&copy).await?;
                copied.push(copy);
            }
        }
        Ok(copied)
    }
}

async fn copy_events(place: &Place, to: &Path) -> Result<(), Failure> {
    match place.events(Access::Look).await? {
        EventLog::Sqlite(store) => Ok(store.backup(to).await?),
        _ => Err(Failure::input("only files can be copied")),
    }
}

async fn copy_messages(store: &Messages, to: &Path) -> Result<(), Failure> {
    match store {
        Messages::Sqlite(store) => Ok(store.backup(to).await?),
        _ => Err(Failure::input("only files can be copied")),
    }
}
