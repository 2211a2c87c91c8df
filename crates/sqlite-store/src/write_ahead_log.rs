//! The write-ahead log of the writer's file.

use rusqlite::{Connection, Result};

use crate::checkpoints::Checkpoints;
use crate::log_length::LogLength;
use crate::{FileConfig, OpenedFile, Readers, pages_hook};

/// The bytes of the log, and of each page in it, beside the content of the pages.
const HEADER_BYTES: u64 = 32;
const PAGE_HEADER_BYTES: u64 = 24;

/// The write-ahead log of the writer's file. Checkpoints run beside the commits, at 2,000 pages; a commit
/// waits for one only if the log has more than 64 MiB.
#[derive(Debug)]
pub struct WriteAheadLog {
    page_bytes: u64,
    checkpoints: Checkpoints,
    length: LogLength,
}

impl WriteAheadLog {
    /// The log of a file that is open for writes. Replaces the checkpoints that the connection makes
    /// during its commits.
    ///
    /// # Errors
    /// SQLite's, if it can't read the file.
    pub fn of(connection: &mut Connection, file: &OpenedFile, config: &FileConfig) -> Result<Self> {
        let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        pages_hook::set(connection)?;
        Ok(Self {
            page_bytes: u64::from(page_bytes) + PAGE_HEADER_BYTES,
            checkpoints: Checkpoints::of(file.clone()),
            length: LogLength::of(config),
        })
    }

    /// Keeps the log short. Call it on the writer's connection before a transaction.
    ///
    /// Moves the few pages that a checkpoint left. If the log is too long, waits for the reads that use it:
    /// two seconds at most, and no longer than half of the writer's time limit. If a read keeps the log, the
    /// program's log and the metrics tell so once, and the next try is made later.
    pub fn prepare(&self, connection: &Connection, readers: &Readers) {
        pages_hook::take();
        self.checkpoints.finish(connection);
        if self.is_too_long() {
            // Only one checkpoint can run at a time.
            self.checkpoints.wait();
            self.length.shorten(self.bytes(), connection, readers);
        }
    }

    /// Whether [`WriteAheadLog::prepare`] may wait.
    pub fn is_too_long(&self) -> bool {
        self.length.is_exceeded_by(self.bytes())
    }

    /// Starts a checkpoint if one is due. Call it after a commit, on the same thread.
    pub fn committed(&self) {
        match pages_hook::take() {
            // The transaction changed nothing.
            0 => {}
            pages => self.checkpoints.committed(pages),
        }
    }

    /// Waits for a running checkpoint, so that its connection is closed. Call it before the writer's is.
    pub fn close(&self) {
        self.checkpoints.wait();
    }

    fn bytes(&self) -> u64 {
        HEADER_BYTES + u64::from(self.checkpoints.pages()) * self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use store_meter::testing::{Log, Recording};
    use store_meter::{Holder, PoolMeter, Scope};
    use tempfile::TempDir;

    use super::*;
    use crate::checkpoints::FEW_PAGES;
    use crate::settings::CHECKPOINT_PAGES;
    use crate::{Location, configure_log};

    /// A file whose log was checkpointed at its opening.
    struct Fixture {
        log: WriteAheadLog,
        writer: Connection,
        readers: Readers,
        folder: TempDir,
    }

    impl Fixture {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            let mut writer = Connection::open(&path).unwrap();
            let sql = "PRAGMA journal_mode = WAL; CREATE TABLE a (b)";
            writer.execute_batch(sql).unwrap();
            configure_log(&writer).unwrap();
            let config = FileConfig::new(Location::File(path.clone()));
            let file = OpenedFile::at(&path).unwrap();
            let meter = async { PoolMeter::new(&Scope::new(true, "a", &[])) };
            let (meter, _) = Recording::of(meter).await;
            Self {
                log: WriteAheadLog::of(&mut writer, &file, &config).unwrap(),
                writer,
                readers: Readers::new(&config, file, meter, move || Connection::open(&path)),
                folder,
            }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("a.db")
        }

        /// Writes this many pages in one commit.
        fn write(&self, pages: u32) {
            self.log.prepare(&self.writer, &self.readers);
            let sql = "INSERT INTO a VALUES (zeroblob(?1))";
            self.writer.execute(sql, [4_080 * pages]).unwrap();
        }

        fn file_pages(&self) -> u64 {
            fs::metadata(self.path()).unwrap().len() / 4_096
        }
    }

    #[tokio::test]
    async fn commit_leaves_the_checkpoint_to_another_thread() {
        let fixture = Fixture::new().await;
        fixture.write(2 * CHECKPOINT_PAGES);
        assert!(fixture.file_pages() < 10, "the commit made a checkpoint");
        fixture.log.committed();
        fixture.log.close();
        assert!(fixture.file_pages() > u64::from(CHECKPOINT_PAGES));
    }

    #[tokio::test]
    async fn log_begins_again_although_commits_arrive_during_a_checkpoint() {
        let fixture = Fixture::new().await;
        fixture.write(CHECKPOINT_PAGES);
        fixture.log.committed();
        fixture.log.close();
        // A commit that arrives during the checkpoint.
        fixture.write(FEW_PAGES / 2);
        fixture.log.committed();
        fixture.log.checkpoints.leave_few();
        fixture.write(1);
        fixture.log.committed();
        assert!(fixture.log.checkpoints.pages() < 10);
    }

    #[tokio::test]
    async fn checkpoint_of_a_moved_file_is_told_once() {
        let fixture = Fixture::new().await;
        fs::rename(fixture.path(), fixture.folder.path().join("b.db")).unwrap();
        let log = Log::begin();
        for _ in 0..2 {
            fixture.write(CHECKPOINT_PAGES);
            fixture.log.checkpoints.run_here();
        }
        log.assert_one(
            "a checkpoint of the write-ahead log failed",
            &["WARN", "error="],
        );
    }

    #[tokio::test]
    async fn refused_transaction_starts_no_checkpoint() {
        let fixture = Fixture::new().await;
        fixture.write(2 * CHECKPOINT_PAGES);
        // Another writer on this thread, whose commit changes nothing.
        let other = Fixture::new().await;
        other.log.prepare(&other.writer, &other.readers);
        other.log.committed();
        assert_eq!(other.log.checkpoints.pages(), 0);
    }

    #[tokio::test]
    async fn read_keeps_the_log_until_it_ends() {
        let fixture = Fixture::new().await;
        fixture.write(1);
        let read = |connection: &Connection| {
            connection
                .execute_batch("BEGIN; SELECT count(*) FROM a")
                .unwrap();
            fixture.write(CHECKPOINT_PAGES);
            fixture.log.committed();
            fixture.log.close();
            fixture.write(1);
            fixture.log.committed();
            assert!(fixture.log.checkpoints.pages() > CHECKPOINT_PAGES);
            connection.execute_batch("COMMIT").unwrap();
            Ok::<_, store_fault::Fault>(())
        };
        fixture.readers.read(Holder::Page, read).unwrap();
        fixture.write(CHECKPOINT_PAGES);
        fixture.log.committed();
        fixture.log.close();
        fixture.write(1);
        fixture.log.committed();
        assert!(fixture.log.checkpoints.pages() < 10);
    }
}
