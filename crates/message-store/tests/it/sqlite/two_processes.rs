use std::path::Path;
use std::process::Child;

use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, GlobalPosition, RecordedMessage,
};

use crate::support::sqlite::{all, message, open, start_worker, stream_name, worker_file};

const WRITES: u64 = 150;

/// Counts a stream up, each step on the version that it has read.
#[test]
fn counter() {
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

/// Pages the file until it has so many messages, as long as none of its writers has failed.
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
fn several_processes_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    // Nobody has made the file: those who open it at the same time install it once.
    let mut workers = [0, 1, 2].map(|_| start_worker("sqlite::two_processes::counter", &path));
    let seen = page(&path, 3 * WRITES, &mut workers);
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    let stored = all(&open(&path));
    assert_eq!(seen, stored, "a reader that pages sees what is there");
    let positions = stored.iter().map(|message| message.position().get());
    assert!(
        positions.eq(0..3 * WRITES),
        "each version was written on once"
    );
}

/// Reads and writes through a path of the folder that it leaves then.
#[test]
fn wanderer() {
    let Some(path) = worker_file() else { return };
    std::env::set_current_dir(path.parent().unwrap()).unwrap();
    let store = open(Path::new("messages.sqlite"));
    std::env::set_current_dir("/").unwrap();
    let written = store.write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any);
    written.unwrap();
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn a_working_directory_that_changes_leads_to_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let wanderer = start_worker("sqlite::two_processes::wanderer", &path);
    let ended = wanderer.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(all(&open(&path)).len(), 1);
}
