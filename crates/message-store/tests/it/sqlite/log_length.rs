//! The length of the write-ahead log.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use message_store::sqlite::{BlockingSqliteStore, Config, Durability};
use message_store::{ExpectedVersion, Message, StreamRead};

use crate::support::{messages, stream_name};

/// SQLite alone begins the log again only in a moment without a read, so it grew as fast as the data.
#[test]
fn log_stays_short_while_reads_overlap() {
    const BOUND: usize = 64 << 20;
    const MESSAGE: usize = 1_900;
    const BATCH: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let [path, log] =
        ["messages.sqlite", "messages.sqlite-wal"].map(|name| folder.path().join(name));
    let config = Config::file(path).durability(Durability::Normal);
    let store = BlockingSqliteStore::open(config).unwrap();
    // Not compressed.
    let text = "a".repeat(MESSAGE);
    let message = Message::builder("Happened").data(&text).build().unwrap();
    let stream = stream_name("a-1");
    let few = stream_name("b-1");
    let written = store.write_batch(&few, messages(200), ExpectedVersion::Any);
    written.unwrap();
    let (done, mut longest) = (AtomicBool::new(false), 0);
    let written = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let read = StreamRead::new().batch_size(200);
                    store.get_stream_messages(&few, read).unwrap();
                }
            });
        }
        let mut written = 0;
        while written * MESSAGE < 3 * BOUND {
            let batch = vec![message.clone(); BATCH];
            let expected = ExpectedVersion::Any;
            store.write_batch(&stream, batch, expected).unwrap();
            written += BATCH;
            longest = longest.max(fs::metadata(&log).unwrap().len());
        }
        done.store(true, Ordering::Relaxed);
        written
    });
    let messages = store.info().unwrap().message_count;
    assert_eq!(messages, 200 + written as u64);
    assert!(longest < BOUND as u64 + (16 << 20), "{longest}");
}
