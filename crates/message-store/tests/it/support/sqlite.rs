//! The short words that the tests are written in.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use message_store::sqlite::{BlockingSqliteStore, Config};
use message_store::{Category, CategoryRead, RecordedMessage};

pub(crate) use super::{message, messages, stream_name};

/// The variable by which this program is told, as another process, on which file to work.
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

/// Starts this program again, to run one test of it alone on a file; its output is piped.
pub(crate) fn start_worker(test: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The file of this process, if it was started as a worker.
pub(crate) fn worker_file() -> Option<std::path::PathBuf> {
    std::env::var_os(FILE).map(Into::into)
}

/// The lines that a worker prints, without those of the test harness.
pub(crate) fn lines(worker: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("> ").map(str::to_owned))
}
