//! A database with files: open, sync, snapshot, close.

use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::restore::Restorer;
use super::{Db, Inner, snapshot};
use crate::storage::{Folder, Storage, StorageFailure};
use crate::wal::{Log, Recovery, TornTail, recover};
use crate::{Error, OpenOptions};

/// The log and the background threads, shared by the clones of a database with files. Dropping the
/// last clone stops the threads and closes the log.
pub(super) struct Session {
    log: Arc<Log>,
    recovery: Recovery,
    /// Held while a snapshot is written, so that a caller and the snapshot thread never write one
    /// at the same time.
    snapshots: Arc<Mutex<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Db {
    /// Opens the database in the folder `path`, or creates it. Keep no other files there.
    ///
    /// # Errors
    /// [`Error::FolderInUse`], [`Error::Corrupt`], [`Error::FormatTooNew`], [`Error::DiskFull`] or
    /// [`Error::Storage`].
    ///
    /// ```
    /// use tsdb::{Db, Labels, OpenOptions, Sample};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let labels = Labels::new("cpu_load", [("host", "web-1")])?;
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

    /// Opens the database in any [`Storage`], or creates it. Calls `progress` several times while
    /// it reads each file.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::FormatTooNew`], [`Error::DiskFull`] or [`Error::Storage`].
    ///
    /// ```
    /// use tsdb::storage::Folder;
    /// use tsdb::{Db, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let db = Db::open_on(Folder::lock(path)?, OpenOptions::default(), |recovery| {
    ///     println!("{} of {} bytes read", recovery.read_bytes, recovery.total_bytes);
    /// })?;
    /// # db.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
        if let Some(torn) = &recovery.torn {
            let TornTail {
                file,
                offset,
                bytes,
            } = torn;
            tracing::warn!(
                file,
                offset,
                bytes,
                "a crash tore the end of the log of the series"
            );
        }
        // Begin the log only now: recovery must not log what it restores.
        let log = Arc::new(Log::begin(storage, &start, &options, inner.meters.log())?);
        inner.journal = Some(Arc::clone(&log));
        let inner = Arc::new(inner);
        let session = Session::begin(&inner, log, recovery, options.snapshot_after_bytes)?;
        let db = Self {
            inner,
            session: Some(session),
        };
        // The log does not record what retention deletes, so recovery has restored those samples.
        db.enforce_retention();
        Ok(db)
    }

    /// Returns the result of reading the files at open; `None` for a database without files.
    ///
    /// ```
    /// use tsdb::{Db, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let db = Db::open(path, OpenOptions::default())?;
    /// if let Some(torn) = db.recovery().and_then(|recovery| recovery.torn.as_ref()) {
    ///     eprintln!("a crash cost {} bytes of {}", torn.bytes, torn.file);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery(&self) -> Option<&Recovery> {
        self.session.as_ref().map(|session| &session.recovery)
    }

    /// Waits until every write that has returned is durable, in any durability mode. Does nothing
    /// without files.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`]. The writes stay in memory, and the log retries.
    ///
    /// ```
    /// use tsdb::{Db, Durability, Labels, OpenOptions, Sample};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let options = OpenOptions { durability: Durability::Unsynced, ..OpenOptions::default() };
    /// let db = Db::open(path, options)?;
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// db.sync()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self) -> Result<(), Error> {
        self.session
            .as_ref()
            .map_or(Ok(()), |session| session.log.sync())
    }

    /// Writes all samples into one file, and removes the log files that it replaces.
    ///
    /// Reads and writes continue in the meantime. Those of one shard wait briefly while its heads
    /// are copied. A write that waits for a sync also waits until the log has begun a new file. A
    /// crash in the middle leaves the log unchanged. Does nothing without files.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`]. The log stays.
    ///
    /// ```
    /// use tsdb::{Db, Labels, OpenOptions, Sample};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let db = Db::open(path, OpenOptions::default())?;
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// db.write_snapshot()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_snapshot(&self) -> Result<(), Error> {
        let Some(session) = self.session.as_ref() else {
            return Ok(());
        };
        let _guard = session.snapshots.lock();
        snapshot::write(&self.inner, &session.log)
    }

    /// Refuses further writes through any clone, and waits until all earlier writes are durable.
    /// Reads still work. The folder stays locked until the last clone is dropped.
    ///
    /// Dropping the last clone closes the database too, but can't report an error.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Storage`] if some writes are not durable. They stay in
    /// memory; call `close` again.
    ///
    /// ```
    /// use tsdb::{Db, Error, Labels, OpenOptions, Sample};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// let db = Db::open(path, OpenOptions::default())?;
    /// db.close()?;
    ///
    /// let load = Labels::new("cpu_load", [("host", "web-1")])?;
    /// let refused = db.append(&load, Sample::new(0, 0.42));
    /// assert!(matches!(refused, Err(Error::Closed)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
                    let _guard = snapshots.lock();
                    // There is no caller to tell. The log stays, and the thread retries once the
                    // log has grown further.
                    if let Err(cause) = snapshot::write(&inner, &log) {
                        tracing::warn!(%cause, "a snapshot of the series failed: the log grows");
                        inner.usage.snapshot_failed();
                        inner.meters.snapshot_failed();
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
            // The panic hook has reported a panic already. Close the log in any case.
            let _ = thread.join();
        }
        // `drop` can't return the error; `Db::close` does.
        let _ = self.log.close();
    }
}
