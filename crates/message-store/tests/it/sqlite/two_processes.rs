use std::path::Path;
use std::process::Child;

use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, GlobalPosition, RecordedMessage,
};

use crate::support::sqlite::{all, message, open, start_worker, stream_name, worker_file};

const WRITES: u64 = 150;

/// Writes to a stream, each time expecting the version that it has just read, and tries again after
/// a conflict.
#[test]
fn counter_worker() {
    let Some(path) = worker_file() else { return };
    let store = open(&path);
    let counter = stream_name("counter-1");
    let mut conflicts = 0;
    for _ in 0..WRITES {
        loop {
            let version = store.stream_version(&counter).unwrap();
            let expected = ExpectedVersion::from_version(version);
            match store.write_message(&counter, message(conflicts), expected) {
                Ok(_) => break,
                Err(Error::WrongExpectedVersion { .. }) => conflicts += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Reads the file page by page until it has found `wanted` messages. Fails if a writer has failed.
fn page(path: &Path, wanted: u64, writers: &mut [Child]) -> Vec<RecordedMessage> {
    let store = open(path);
    let (mut seen, mut next) = (Vec::new(), GlobalPosition::START);
    while (seen.len() as u64) < wanted {
        let read = CategoryRead::new().position(next).batch_size(7);
        let page = store
            .get_category_messages(&Category::all(), &read)
            .unwrap();
        match page.last() {
            Some(last) => next = last.global_position().next(),
            None => writers.iter_mut().for_each(assert_not_failed),
        }
        seen.extend(page);
    }
    seen
}

fn assert_not_failed(worker: &mut Child) {
    let ended = worker.try_wait().unwrap();
    assert!(ended.is_none_or(|status| status.success()), "{ended:?}");
}

#[test]
fn concurrent_processes_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    // The file does not exist yet: one of the processes installs the schema.
    let mut workers =
        [0, 1, 2].map(|_| start_worker("sqlite::two_processes::counter_worker", &path));
    let seen = page(&path, 3 * WRITES, &mut workers);
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    let stored = all(&open(&path));
    assert_eq!(seen, stored, "a paging reader sees every message once");
    let positions = stored.iter().map(|message| message.position().get());
    assert!(
        positions.eq(0..3 * WRITES),
        "each version is followed by one write"
    );
}

/// Opens a relative path, then changes the working directory.
#[test]
fn chdir_worker() {
    let Some(path) = worker_file() else { return };
    std::env::set_current_dir(path.parent().unwrap()).unwrap();
    let store = open(Path::new("messages.sqlite"));
    std::env::set_current_dir("/").unwrap();
    let written = store.write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any);
    written.unwrap();
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn changed_working_directory_keeps_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let chdir_worker = start_worker("sqlite::two_processes::chdir_worker", &path);
    let ended = chdir_worker.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(all(&open(&path)).len(), 1);
}
