//! Helpers of the tests of the SQLite store.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use message_store::sqlite::{BlockingSqliteStore, Config};
use message_store::{Category, CategoryRead, RecordedMessage};

pub(crate) use super::{message, messages, stream_name, write};

/// The environment variable with the file of a worker process.
const FILE: &str = "MESSAGE_STORE_WORKER_FILE";

pub(crate) fn open(path: &Path) -> BlockingSqliteStore {
    BlockingSqliteStore::open(Config::file(path)).unwrap()
}

pub(crate) fn all(store: &BlockingSqliteStore) -> Vec<RecordedMessage> {
    let read = CategoryRead::new().batch_size(None);
    store
        .get_category_messages(&Category::all(), &read)
        .unwrap()
}

/// Starts this program again to run one test on a file, with its output piped. The name of the test
/// includes its modules.
pub(crate) fn start_worker(test: &str, path: &Path) -> Child {
    start_worker_in(&[], test, path)
}

/// Starts a worker through another program, which gets the worker's command after its own arguments.
pub(crate) fn start_worker_in(program: &[&str], test: &str, path: &Path) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut words = program.iter().map(OsStr::new).chain([own.as_os_str()]);
    Command::new(words.next().unwrap())
        .args(words)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The file, if this process is a worker.
pub(crate) fn worker_file() -> Option<std::path::PathBuf> {
    std::env::var_os(FILE).map(Into::into)
}

/// The lines that a worker prints, without those of the test harness.
pub(crate) fn lines(worker: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("> ").map(str::to_owned))
}
