//! Keeps the write-ahead log short while reads overlap.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Result};
use store_meter::Holder;

use crate::settings::LOG_BYTES;
use crate::{FileConfig, OpenedFile, Readers, access::beside};

/// The longest wait of the writer for the reads that use the log.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// The time between two looks at the length. A look makes the next flush longer by 30 us: Linux gives a file
/// that was looked at an exact time of its next change, and the flush has to write it.
const LOOKS: Duration = Duration::from_millis(20);
/// The pause after a wait that ended too early, in times of that wait. So writes wait a third of the time
/// at most.
const PAUSE: u32 = 2;

/// The length of a write-ahead log, with a bound of 64 MiB.
///
/// SQLite moves the log into the file after a commit, and begins it again at the next write, but only if no
/// read uses it at that moment. Reads that overlap leave no such moment. So the writer of a log that is too
/// long makes one: it holds the file's write lock and waits for the reads that use the log. Reads that begin
/// meanwhile need only the file, so they wait for nothing.
#[derive(Debug)]
pub struct LogLength {
    path: PathBuf,
    longest_wait: Duration,
    look: Mutex<Option<Look>>,
    pinned: Mutex<Option<Pinned>>,
}

/// The length of the log at some time.
#[derive(Debug)]
struct Look {
    at: Instant,
    bytes: u64,
}

/// The log could not begin again.
#[derive(Debug)]
struct Pinned {
    since: Instant,
    next_try: Instant,
}

impl LogLength {
    /// The log of a file.
    pub fn of(file: &OpenedFile, config: &FileConfig) -> Self {
        Self {
            path: beside(file.path(), "-wal"),
            longest_wait: LONGEST_WAIT.min(config.write_timeout / 2),
            look: Mutex::default(),
            pinned: Mutex::default(),
        }
    }

    /// Lets a log that is too long begin again with the next write. Waits two seconds at most, and no longer
    /// than half of the writer's time limit. Call it on the writer's connection before a transaction.
    ///
    /// Costs a `stat` every 20 ms, unless the log is too long. If a read keeps the log, the program's log
    /// and the metrics tell so once, and the next try is made later.
    pub fn shorten(&self, connection: &Connection, readers: &Readers) {
        let bytes = self.bytes();
        if bytes <= LOG_BYTES.unsigned_abs() {
            return;
        }
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        if pinned.as_ref().is_some_and(|log| begun < log.next_try) {
            return;
        }
        let file = connection.path();
        let Some((read, age)) = self.holder(connection, readers) else {
            // The file gets shorter with the next write.
            *self.look.lock().unwrap_or_else(PoisonError::into_inner) = Some(Look {
                at: begun,
                bytes: 0,
            });
            if let Some(log) = pinned.take() {
                let waited = log.since.elapsed();
                tracing::info!(file, ?waited, "the write-ahead log begins again");
            }
            return;
        };
        if pinned.is_none() {
            readers.meter().pinned(read);
            let read = read.name();
            tracing::warn!(
                file,
                bytes,
                read,
                ?age,
                "a read keeps the write-ahead log above its bound"
            );
        }
        let now = Instant::now();
        let since = pinned.as_ref().map_or(begun, |log| log.since);
        let next_try = now + (now - begun) * PAUSE;
        *pinned = Some(Pinned { since, next_try });
    }

    /// Whether [`LogLength::shorten`] may wait. Costs as much.
    pub fn is_exceeded(&self) -> bool {
        self.bytes() > LOG_BYTES.unsigned_abs()
    }

    fn bytes(&self) -> u64 {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match &*look {
            Some(last) if now.duration_since(last.at) < LOOKS => last.bytes,
            _ => {
                let bytes = fs::metadata(&self.path).map_or(0, |log| log.len());
                *look = Some(Look { at: now, bytes });
                bytes
            }
        }
    }

    /// Tries to begin the log again. The read that keeps it, and the time of that read.
    fn holder(&self, connection: &Connection, readers: &Readers) -> Option<(Holder, Duration)> {
        let oldest = readers.oldest();
        // A read that has gone on for this long, such as a backup, will hardly end in time.
        if oldest.is_some_and(|(_, age)| age > self.longest_wait) {
            return oldest;
        }
        let begun = Instant::now();
        // A failure is no reason to refuse a write: the write meets the same fault of the file.
        if self.begin_again(connection).unwrap_or(false) {
            return None;
        }
        let took = begun.elapsed();
        let oldest = readers.oldest().filter(|(_, age)| *age >= took);
        oldest.or(Some((Holder::Other, took)))
    }

    /// Moves the log into the file and waits until no read uses it. Returns whether there is such a moment.
    fn begin_again(&self, connection: &Connection) -> Result<bool> {
        connection.busy_timeout(self.longest_wait)?;
        let sql = "PRAGMA wal_checkpoint(RESTART)";
        let is_busy = connection.query_row(sql, [], |row| row.get::<_, bool>(0));
        // The writer retries by itself.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(!is_busy?)
    }
}

#[cfg(test)]
mod tests {
    use store_fault::Fault;
    use store_meter::testing::{Log, Recording};
    use store_meter::{PoolMeter, Scope};
    use tempfile::TempDir;

    use super::*;
    use crate::{Location, configure_log};

    /// A file with a log above its bound.
    struct Fixture {
        writer: Connection,
        readers: Readers,
        length: LogLength,
        recording: Recording,
        folder: TempDir,
    }

    impl Fixture {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            let writer = Connection::open(&path).unwrap();
            let sql = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE a (b)";
            writer.execute_batch(sql).unwrap();
            configure_log(&writer, 0).unwrap();
            let mut config = FileConfig::new(Location::File(path.clone()));
            config.write_timeout = Duration::from_millis(40);
            let file = OpenedFile::at(&path).unwrap();
            let meter = async { PoolMeter::new(&Scope::new(true, "a", &[])) };
            let (meter, recording) = Recording::of(meter).await;
            let fixture = Self {
                writer,
                length: LogLength::of(&file, &config),
                readers: Readers::new(&config, file, meter, move || Connection::open(&path)),
                recording,
                folder,
            };
            for _ in 0..66 {
                fixture.write(1 << 20);
            }
            fixture
        }

        fn write(&self, bytes: u32) {
            let sql = "INSERT INTO a VALUES (zeroblob(?1))";
            self.writer.execute(sql, [bytes]).unwrap();
        }

        fn shorten(&self) {
            *self.length.look.lock().unwrap() = None;
            if let Some(pinned) = self.length.pinned.lock().unwrap().as_mut() {
                pinned.next_try = Instant::now();
            }
            self.length.shorten(&self.writer, &self.readers);
        }

        /// Whether the log is within its bound after the next write.
        fn is_short(&self) -> bool {
            self.write(1);
            let log = fs::metadata(self.folder.path().join("a.db-wal")).unwrap();
            log.len() <= LOG_BYTES.unsigned_abs()
        }

        /// Checks the log event and the metric of a read that keeps the log.
        fn assert_told(&self, log: &Log, name: &str) {
            let name_in_log = format!("read=\"{name}\"");
            log.assert_one("a read keeps the write-ahead log", &["WARN", &name_in_log]);
            let counter = "a_write_ahead_log_pinned_total";
            let recorded = self.recording.look();
            assert_eq!(recorded.number(counter, Some(("read", name))), 1.0);
        }
    }

    fn read_row(connection: &Connection) -> Result<(), Fault> {
        let read = connection.query_row("SELECT count(*) FROM a", [], |_| Ok(()));
        read.map_err(|failed| crate::fault(&failed))
    }

    #[tokio::test]
    async fn read_of_the_store_is_named_and_its_end_told() {
        let fixture = Fixture::new().await;
        let log = Log::begin();
        let long = |connection: &Connection| {
            connection.execute_batch("BEGIN").unwrap();
            read_row(connection)?;
            fixture.write(1);
            // Reads that end in time are not named.
            fixture.readers.read(Holder::Page, read_row)?;
            fixture.shorten();
            fixture.shorten();
            assert!(!fixture.is_short());
            connection.execute_batch("COMMIT").unwrap();
            Ok::<_, Fault>(())
        };
        fixture.readers.read(Holder::Backup, long).unwrap();
        fixture.assert_told(&log, "backup");
        fixture.shorten();
        assert!(fixture.is_short());
        log.assert_one("the write-ahead log begins again", &["INFO", "waited="]);
    }

    #[tokio::test]
    async fn read_of_another_connection_is_named() {
        let fixture = Fixture::new().await;
        let log = Log::begin();
        let other = Connection::open(fixture.folder.path().join("a.db")).unwrap();
        let read = other.unchecked_transaction().unwrap();
        read_row(&read).unwrap();
        fixture.write(1);
        fixture.shorten();
        fixture.shorten();
        fixture.assert_told(&log, "other");
    }

    #[tokio::test]
    async fn short_log_is_left_alone() {
        let fixture = Fixture::new().await;
        fixture.shorten();
        assert!(fixture.is_short());
        let log = Log::begin();
        fixture.readers.read(Holder::Scan, read_row).unwrap();
        fixture.shorten();
        assert_eq!(log.lines(&[]), [""; 0]);
    }
}
