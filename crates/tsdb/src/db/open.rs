//! A database with files: opened, synced, closed.

use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::{Db, Inner, Restorer, snapshot};
use crate::storage::{Folder, Storage, StorageFailure};
use crate::wal::{Log, Recovery, recover};
use crate::{Error, OpenOptions};

/// What the clones of a database with files share; ends it with the last of them.
pub(super) struct Session {
    log: Arc<Log>,
    recovery: Recovery,
    /// One snapshot at a time.
    snapshots: Arc<Mutex<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Db {
    /// Opens the database in the folder `path`, or begins one there. The folder is its own.
    ///
    /// # Errors
    /// [`Error::FolderInUse`], [`Error::Corrupt`], [`Error::NewerFormat`], [`Error::DiskFull`] or
    /// [`Error::Storage`].
    ///
    /// ```
    /// use tsdb::{Db, Labels, OpenOptions, Sample};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let labels = Labels::new("cpu_usage", [("host", "a")])?;
    /// let db = Db::open(path, OpenOptions::default())?;
    /// db.append(&labels, Sample::new(1_700_000_000_000, 0.5))?;
    /// db.close()?;
    /// # drop(db);
    ///
    /// let db = Db::open(path, OpenOptions::default())?;
    /// assert_eq!(db.series_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, Error> {
        Self::open_on(Folder::lock(path.as_ref())?, options, |_| {})
    }

    /// As [`Db::open`], in any [`Storage`]. While the files are read, `progress` is told how far it
    /// is, several times a file.
    ///
    /// # Errors
    /// Those of [`Db::open`].
    pub fn open_on(
        storage: impl Storage,
        mut options: OpenOptions,
        mut progress: impl FnMut(&Recovery),
    ) -> Result<Self, Error> {
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let mut inner = Inner::new(mem::take(&mut options.db));
        let mut restorer = Restorer::new(&inner);
        let (recovery, start) = recover(&*storage, &mut restorer, &mut progress)?;
        restorer.finish();
        let log = Arc::new(Log::begin(storage, &start, &options)?);
        inner.journal = Some(Arc::clone(&log));
        let inner = Arc::new(inner);
        let session = Session::begin(&inner, log, recovery, options.snapshot_after_bytes)?;
        let db = Self {
            inner,
            session: Some(session),
        };
        db.enforce_retention();
        Ok(db)
    }

    /// What was found when the database was opened; `None` if it has no files.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.session.as_ref().map(|session| &session.recovery)
    }

    /// Returns when all writes that returned before are durable, whatever the mode. Without files
    /// there is nothing to do.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`]; the writes stay, and the log tries again.
    pub fn sync(&self) -> Result<(), Error> {
        self.session
            .as_ref()
            .map_or(Ok(()), |session| session.log.sync())
    }

    /// Writes all samples into one file, which takes the place of the log until now.
    ///
    /// Other calls go on meanwhile; writers wait at most while the heads of one shard are copied.
    /// A crash in the middle leaves the log as it was. Without files there is nothing to do.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`]; the log stays.
    pub fn write_snapshot(&self) -> Result<(), Error> {
        let Some(session) = self.session.as_ref() else {
            return Ok(());
        };
        let _one = session.snapshots.lock();
        snapshot::write(&self.inner, &session.log)
    }

    /// Refuses writes from now on, in all clones, and returns when all before are durable. Reads go
    /// on. The folder is free when the last clone is dropped.
    ///
    /// The drop of the last clone closes too, but can't tell of a failure.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`]: not all is durable; it stays in memory, and
    /// closing can be tried again.
    pub fn close(&self) -> Result<(), Error> {
        self.session
            .as_ref()
            .map_or(Ok(()), |session| session.log.close())
    }
}

impl Session {
    fn begin(
        inner: &Arc<Inner>,
        log: Arc<Log>,
        recovery: Recovery,
        snapshot_after_bytes: Option<u64>,
    ) -> Result<Arc<Self>, Error> {
        let mut session = Self {
            log,
            recovery,
            snapshots: Arc::default(),
            threads: Vec::new(),
        };
        let log = Arc::clone(&session.log);
        session.spawn("tsdb-log", move || log.run_flushes())?;
        if snapshot_after_bytes.is_some() {
            let (inner, log) = (Arc::clone(inner), Arc::clone(&session.log));
            let snapshots = Arc::clone(&session.snapshots);
            session.spawn("tsdb-snapshot", move || {
                log.run_snapshots(|| {
                    let _one = snapshots.lock();
                    // The log stays as it is, and the next try is put off.
                    if snapshot::write(&inner, &log).is_err() {
                        inner.usage.snapshot_failed();
                    }
                });
            })?;
        }
        Ok(Arc::new(session))
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = spawned.map_err(|cause| StorageFailure::new("start a thread for", "", cause));
        self.threads.push(thread?);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.log.stop();
        for thread in self.threads.drain(..) {
            // A panic was printed where it happened; the log is closed all the same.
            let _ = thread.join();
        }
        // Whoever wants to know calls `close`.
        let _ = self.log.close();
    }
}
