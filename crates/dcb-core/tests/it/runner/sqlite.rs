//! Read models in SQLite, in the log's file and in another file.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance_suite::effort;
use dcb_core::sqlite::{Config, Handler, SqliteReadModel, SqliteStore, Transaction};
use dcb_core::{
    Error, EventStore as _, Fault, HandlerError, Position, ProjectionRunner, SequencedEvent,
    SubscribeOptions,
};
use rusqlite::Connection;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::tally::expected;
use crate::support::events::{at, positions, tag, tagged};

const FOLDER: &str = "REGISTRAR_TEST_RUNNER_FOLDER";

/// Stores the positions of the events it handles, in order of arrival.
struct Seen {
    fails_at: Option<u64>,
}

impl Handler for Seen {
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let mut insert = transaction.prepare_cached("INSERT INTO seen (position) VALUES (?1)")?;
        for position in positions(events) {
            insert.execute([position as i64])?;
            if self.fails_at.take_if(|at| *at == position).is_some() {
                return Err("handler failed".into());
            }
        }
        Ok(())
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        transaction.execute("DELETE FROM seen", [])?;
        Ok(())
    }
}

fn install(file: &Path) {
    let connection = Connection::open(file).unwrap();
    connection
        .execute_batch("CREATE TABLE seen (ordinal INTEGER PRIMARY KEY AUTOINCREMENT, position)")
        .unwrap();
}

fn seen(file: &Path) -> Vec<u64> {
    let connection = Connection::open(file).unwrap();
    let mut select = connection
        .prepare("SELECT position FROM seen ORDER BY ordinal")
        .unwrap();
    let rows = select.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    rows.map(|position| position.unwrap().unsigned_abs())
        .collect()
}

fn runner(
    store: &SqliteStore,
    file: &Path,
    fails_at: Option<u64>,
) -> ProjectionRunner<SqliteStore, SqliteReadModel<Seen>> {
    let model = SqliteReadModel::new(Config::file(file), "seen", Seen { fails_at }).unwrap();
    ProjectionRunner::new(store.clone(), tag("a"), model)
        .options(SubscribeOptions::new().batch_size(4))
}

async fn append_pairs(store: &SqliteStore, pairs: usize) {
    for _ in 0..pairs {
        store.append(vec![tagged("a"), tagged("b")]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_and_checkpoint_are_committed_together() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.db");
    for file in [log.clone(), folder.path().join("other.db")] {
        let store = SqliteStore::open(Config::file(&log)).await.unwrap();
        install(&file);
        append_pairs(&store, 10).await;
        let mut failing = runner(&store, &file, Some(11));
        let failed = failing.catch_up().await.unwrap_err();
        assert!(
            matches!(&failed, Error::Handler { name, .. } if name == "seen"),
            "{failed:?}"
        );
        assert_eq!(seen(&file), [1, 3, 5, 7]);
        failing.catch_up().await.unwrap();
        assert_eq!(seen(&file), expected(&store).await);
        append_pairs(&store, 3).await;
        let mut another = runner(&store, &file, None);
        another.catch_up().await.unwrap();
        assert_eq!(seen(&file), expected(&store).await);
        another.rebuild().await.unwrap();
        assert_eq!(seen(&file), expected(&store).await);
        store.close().await;
    }
}

/// A read model writes its checkpoint even before the first event.
#[test]
fn configuration_for_reads_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    let (stored, absent) = (
        folder.path().join("stored.db"),
        folder.path().join("absent.db"),
    );
    install(&stored);
    let before = std::fs::read(&stored).unwrap();
    for file in [&stored, &absent] {
        let config = Config::file(file).read_only();
        let refused = SqliteReadModel::new(config, "seen", Seen { fails_at: None });
        assert!(
            matches!(&refused, Err(Error::Fault(Fault::ReadOnlyFile { path, .. })) if path == file),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read(&stored).unwrap(), before);
    assert!(!absent.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_and_concurrent_runners_handle_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let store = SqliteStore::open(Config::file(&file)).await.unwrap();
    install(&file);
    append_pairs(&store, 60).await;
    let runners: Vec<_> = (0..3)
        .map(|_| {
            let mut runner = runner(&store, &file, None);
            tokio::spawn(async move {
                for micros in (0..).step_by(200) {
                    let run = timeout(Duration::from_micros(micros), runner.catch_up());
                    if let Ok(done) = run.await {
                        return done;
                    }
                }
                unreachable!("the loop has no end")
            })
        })
        .collect();
    append_pairs(&store, 30).await;
    for runner in runners {
        runner.await.unwrap().unwrap();
    }
    runner(&store, &file, None).catch_up().await.unwrap();
    assert_eq!(seen(&file), expected(&store).await);
    store.close().await;
}

/// SQLite commits to a file without a name. The batch was handled, and gone when the file was opened
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn removed_file_of_a_read_model_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (log, file) = (folder.path().join("log.db"), folder.path().join("other.db"));
    let store = SqliteStore::open(Config::file(&log)).await.unwrap();
    install(&file);
    append_pairs(&store, 3).await;
    let mut runner = runner(&store, &file, None);
    runner.catch_up().await.unwrap();
    std::fs::remove_file(&file).unwrap();
    append_pairs(&store, 3).await;
    let refused = runner.catch_up().await;
    assert!(
        matches!(&refused, Err(Error::Fault(Fault::FileMoved { path })) if *path == file),
        "{refused:?}"
    );
    store.close().await;
}

/// Clearing the log keeps checkpoints, so the read model is ahead of the log.
#[tokio::test(flavor = "multi_thread")]
async fn catch_up_with_a_cleared_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let store = SqliteStore::open(Config::file(&file)).await.unwrap();
    install(&file);
    append_pairs(&store, 3).await;
    let mut runner = runner(&store, &file, None);
    runner.catch_up().await.unwrap();
    for pairs in [0, 1] {
        store.clear().await.unwrap();
        append_pairs(&store, pairs).await;
        let refused = runner.catch_up().await;
        assert!(
            matches!(
                refused,
                Err(Error::AfterBeyondHead { after, head })
                    if after == at(6) && head == Position::new(2 * pairs as u64)
            ),
            "{refused:?}"
        );
    }
    assert_eq!(runner.rebuild().await.unwrap(), Some(at(2)));
    assert_eq!(seen(&file), expected(&store).await);
    store.clear().await.unwrap();
    assert_eq!(runner.rebuild().await.unwrap(), None);
    assert!(seen(&file).is_empty());
    store.close().await;
}

/// Resetting a read model by hand deletes its checkpoint, perhaps while a runner is active.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_checkpoint_restarts_from_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let store = SqliteStore::open(Config::file(&file)).await.unwrap();
    install(&file);
    append_pairs(&store, 10).await;
    let mut runner = runner(&store, &file, None);
    runner.catch_up().await.unwrap();
    let connection = Connection::open(&file).unwrap();
    connection
        .execute_batch("DELETE FROM seen; DELETE FROM dcb_checkpoint")
        .unwrap();
    for _ in 0..2 {
        let caught_up = timeout(Duration::from_secs(10), runner.catch_up()).await;
        assert_eq!(caught_up.expect("catch_up ends").unwrap(), Some(at(20)));
        assert_eq!(seen(&file), expected(&store).await);
    }
    store.close().await;
}

/// A handler that fails because it opens a file that does not exist.
struct MissingFile;

impl Handler for MissingFile {
    fn handle(&mut self, _: &Transaction<'_>, _: &[SequencedEvent]) -> Result<(), HandlerError> {
        Connection::open("/no/such/folder/other.db")?;
        Ok(())
    }

    fn reset(&mut self, _: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_error_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let store = SqliteStore::open(Config::file(&file)).await.unwrap();
    append_pairs(&store, 1).await;
    let model = SqliteReadModel::new(Config::file(&file), "elsewhere", MissingFile).unwrap();
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model);
    let ended = timeout(Duration::from_secs(10), runner.catch_up()).await;
    let failed = ended.expect("catch_up ends").unwrap_err();
    assert!(
        matches!(&failed, Error::Handler { name, .. } if name == "elsewhere"),
        "{failed:?}"
    );
    store.close().await;
}

/// SQLite treats an empty path as a temporary file, removed when its connection closes.
#[test]
fn read_model_without_a_file_is_refused() {
    for config in [Config::memory(), Config::file("")] {
        let model = SqliteReadModel::new(config, "seen", Seen { fails_at: None });
        let refused = model.map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "location"),
            "{refused:?}"
        );
    }
}

/// The tables of a database in memory belong to one connection.
#[tokio::test(flavor = "multi_thread")]
async fn read_model_in_memory_shares_a_connection() {
    let tables = Connection::open_in_memory().unwrap();
    let create = "CREATE TABLE seen (ordinal INTEGER PRIMARY KEY AUTOINCREMENT, position)";
    tables.execute_batch(create).unwrap();
    let tables = Arc::new(Mutex::new(tables));
    let store = SqliteStore::open(Config::memory()).await.unwrap();
    append_pairs(&store, 10).await;
    let runner = |fails_at| {
        let model = SqliteReadModel::on_connection(Arc::clone(&tables), "seen", Seen { fails_at });
        ProjectionRunner::new(store.clone(), tag("a"), model.unwrap())
            .options(SubscribeOptions::new().batch_size(4))
    };
    let count = || {
        let sql = "SELECT count(*) FROM seen";
        let tables = tables.lock().unwrap();
        tables
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let failed = runner(Some(11)).catch_up().await.unwrap_err();
    assert!(matches!(&failed, Error::Handler { .. }), "{failed:?}");
    assert_eq!(count(), 4, "the batch that failed is rolled back");
    runner(None).catch_up().await.unwrap();
    assert_eq!(count(), 10);
    append_pairs(&store, 3).await;
    let mut another = runner(None);
    another.catch_up().await.unwrap();
    assert_eq!(count(), 13, "the checkpoint is kept beside the tables");
    another.rebuild().await.unwrap();
    assert_eq!(count(), 13);
    let nameless = SqliteReadModel::on_connection(Arc::clone(&tables), "", Seen { fails_at: None });
    assert!(matches!(nameless.map(drop), Err(Error::Invalid { field, .. }) if field == "name"));
    store.close().await;
}

struct Panics;

impl Handler for Panics {
    fn handle(&mut self, _: &Transaction<'_>, _: &[SequencedEvent]) -> Result<(), HandlerError> {
        panic!("a mistake in a handler")
    }

    fn reset(&mut self, _: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// The connection is the caller's, and other parts of the program use it.
#[tokio::test(flavor = "multi_thread")]
async fn panic_of_a_handler_does_not_poison_the_callers_lock() {
    let tables = Arc::new(Mutex::new(Connection::open_in_memory().unwrap()));
    let store = SqliteStore::open(Config::memory()).await.unwrap();
    append_pairs(&store, 1).await;
    let model = SqliteReadModel::on_connection(Arc::clone(&tables), "seen", Panics).unwrap();
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model);
    let ended = tokio::spawn(async move { runner.catch_up().await }).await;
    assert!(ended.unwrap_err().is_panic());
    store.close().await;
    let tables = tables.lock().expect("the lock is not poisoned");
    assert!(tables.is_autocommit(), "the transaction was rolled back");
}

/// SQLite itself would treat this path as a database in memory.
#[tokio::test(flavor = "multi_thread")]
async fn path_named_memory_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(Config::file(folder.path().join("log.db")))
        .await
        .unwrap();
    append_pairs(&store, 1).await;
    let name = Path::new(":memory:");
    let file = tempfile::TempPath::try_from_path(std::path::absolute(name).unwrap()).unwrap();
    install(&file);
    runner(&store, name, None).catch_up().await.unwrap();
    assert_eq!(seen(&file), expected(&store).await);
    store.close().await;
}

/// The body of a worker process: runs the projection until the process is killed. Does nothing if no
/// folder is set.
pub(crate) fn serve() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    runtime.block_on(async {
        let folder = Path::new(&folder);
        let store = SqliteStore::open(Config::file(folder.join("log.db")))
            .await
            .unwrap();
        let ended = runner(&store, &folder.join("state.db"), None).run().await;
        eprintln!("the runner ended: {ended:?}");
    });
}

/// Worker processes follow a file that this process appends to, and are killed.
#[tokio::test(flavor = "multi_thread")]
async fn runner_in_killed_processes_handles_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.db");
    let store = SqliteStore::open(Config::file(folder.path().join("log.db")))
        .await
        .unwrap();
    install(&state);
    for round in 0..effort(6) as u64 {
        let mut process =
            Command::new(std::env::current_exe().expect("the path of this executable"))
                .args(["worker", "--exact", "--ignored", "--nocapture"])
                .env(FOLDER, folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .expect("this executable can run");
        append_pairs(&store, 30).await;
        sleep(Duration::from_millis(20 + round * 17 % 60)).await;
        process.kill().await.expect("the process can be killed");
    }
    runner(&store, &state, None).catch_up().await.unwrap();
    assert_eq!(seen(&state), expected(&store).await);
    store.close().await;
}
