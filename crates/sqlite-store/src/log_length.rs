//! Keeps the write-ahead log short while reads overlap.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Result};
use store_meter::Holder;

use crate::settings::LOG_BYTES;
use crate::{FileConfig, Readers};

/// The longest wait of the writer for the reads that use the log.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// The pause after a wait that ended too early, in times of that wait. So writes wait a third of the time
/// at most.
const PAUSE: u32 = 2;
/// The longest wait of SQLite for one of its read marks. A read that begins meanwhile can take the mark,
/// and reads that overlap can then share it without end. The next try sees that the mark is a new one.
const LONGEST_TRY: Duration = Duration::from_millis(50);
/// SQLite returns at once if another process moves the log. So there is a pause between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The bound of a write-ahead log, 64 MiB.
///
/// A log that is in the file begins again at the next write, but only if no read uses it at that moment.
/// Reads that overlap leave no such moment. So the writer of a log that is too long makes one: it holds the
/// file's write lock and waits for the reads that use the log. Reads that begin meanwhile need only the
/// file, so they wait for nothing.
#[derive(Debug)]
pub(crate) struct LogLength {
    longest_wait: Duration,
    pinned: Mutex<Option<Pinned>>,
}

/// The log could not begin again.
#[derive(Debug)]
struct Pinned {
    since: Instant,
    next_try: Instant,
}

impl LogLength {
    pub(crate) fn of(config: &FileConfig) -> Self {
        Self {
            longest_wait: LONGEST_WAIT.min(config.write_timeout / 2),
            pinned: Mutex::default(),
        }
    }

    pub(crate) fn is_exceeded_by(&self, bytes: u64) -> bool {
        bytes > LOG_BYTES.unsigned_abs()
    }

    /// Lets a log of this length begin again with the next write. Waits two seconds at most, and no longer
    /// than half of the writer's time limit.
    pub(crate) fn shorten(&self, bytes: u64, connection: &Connection, readers: &Readers) {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        if pinned.as_ref().is_some_and(|log| begun < log.next_try) {
            return;
        }
        let file = connection.path();
        let Some((read, age)) = self.holder(connection, readers) else {
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
        let begun = Instant::now();
        connection.busy_timeout(LONGEST_TRY.min(self.longest_wait))?;
        let sql = "PRAGMA wal_checkpoint(RESTART)";
        let is_busy = loop {
            match connection.query_row(sql, [], |row| row.get::<_, bool>(0)) {
                Ok(true) if begun.elapsed() < self.longest_wait => thread::sleep(BETWEEN_TRIES),
                tried => break tried,
            }
        };
        // The writer retries by itself.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(!is_busy?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use store_fault::Fault;
    use store_meter::testing::{Log, Recording};
    use store_meter::{PoolMeter, Scope};
    use tempfile::TempDir;

    use super::*;
    use crate::{Location, OpenedFile, configure_log};

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
            configure_log(&writer).unwrap();
            writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
            let mut config = FileConfig::new(Location::File(path.clone()));
            config.write_timeout = Duration::from_millis(40);
            let file = OpenedFile::at(&path).unwrap();
            let meter = async { PoolMeter::new(&Scope::new(true, "a", &[])) };
            let (meter, recording) = Recording::of(meter).await;
            let fixture = Self {
                writer,
                length: LogLength::of(&config),
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
            if let Some(pinned) = self.length.pinned.lock().unwrap().as_mut() {
                pinned.next_try = Instant::now();
            }
            if self.length.is_exceeded_by(self.log_bytes()) {
                let bytes = self.log_bytes();
                self.length.shorten(bytes, &self.writer, &self.readers);
            }
        }

        /// Whether the log is within its bound after the next write.
        fn is_short(&self) -> bool {
            self.write(1);
            !self.length.is_exceeded_by(self.log_bytes())
        }

        fn log_bytes(&self) -> u64 {
            let log = self.folder.path().join("a.db-wal");
            std::fs::metadata(log).unwrap().len()
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

    /// A read that ends while SQLite waits for its mark can be followed by one that takes the same mark.
    #[tokio::test]
    async fn reads_that_overlap_do_not_keep_the_log() {
        let mut fixture = Fixture::new().await;
        fixture.length.longest_wait = LONGEST_WAIT;
        let log = Log::begin();
        let open = || Connection::open(fixture.folder.path().join("a.db")).unwrap();
        let (reads, other) = ([open(), open()], open());
        other.busy_timeout(Duration::ZERO).unwrap();
        let begin = |read: &Connection| {
            read.execute_batch("BEGIN").unwrap();
            read_row(read).unwrap();
        };
        begin(&reads[0]);
        fixture.write(1);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let is_over = &is_over;
            scope.spawn(move || {
                while other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
                    thread::sleep(BETWEEN_TRIES);
                }
                // By then, SQLite looks at the mark every 25 to 100 ms.
                thread::sleep(LONGEST_TRY * 6);
                reads[0].execute_batch("COMMIT").unwrap();
                begin(&reads[0]);
                for number in 1.. {
                    let (read, next) = (&reads[(number + 1) % 2], &reads[number % 2]);
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    begin(next);
                    read.execute_batch("COMMIT").unwrap();
                    thread::sleep(BETWEEN_TRIES);
                }
            });
            fixture.shorten();
            let is_short = fixture.is_short();
            is_over.store(true, Ordering::Relaxed);
            assert!(is_short);
        });
        assert_eq!(log.lines(&["a read keeps"]), [""; 0]);
    }
}
