use std::collections::BTreeMap;
use std::io::Write;

use message_store::{ExpectedVersion, RecordedMessage};

use crate::support::sqlite::{all, lines, messages, open, start_worker, stream_name, worker_file};

const WRITERS: u64 = 4;
const ROUNDS: usize = 3;

/// Writes batches of two messages until it is killed, and prints each acknowledged batch.
#[test]
fn writer_worker() {
    let Some(path) = worker_file() else { return };
    let store = open(&path);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || {
                for round in 0.. {
                    let stream = format!("c{writer}-{}", round % 3);
                    let written = store
                        .write_batch(&stream_name(&stream), messages(2), ExpectedVersion::Any)
                        .unwrap();
                    let positions = written[0].position.get();
                    let global_position = written[0].global_position.get();
                    let line = format!("\n> {stream} {positions} {global_position}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

#[test]
fn killed_process_keeps_acknowledged_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let mut worker = start_worker("sqlite::crash::writer_worker", &path);
        let mut lines = lines(&mut worker);
        acknowledged.extend(lines.by_ref().take(100 + 37 * round));
        worker.kill().unwrap();
        acknowledged.extend(lines.filter(|line| line.split(' ').count() == 3));
        worker.wait().unwrap();
        check(&acknowledged, &all(&open(&path)));
    }
}

fn check(acknowledged: &[String], stored: &[RecordedMessage]) {
    let mut streams: BTreeMap<&str, Vec<&RecordedMessage>> = BTreeMap::new();
    for message in stored {
        streams
            .entry(message.stream_name())
            .or_default()
            .push(message);
    }
    for (stream, messages) in &streams {
        let positions = messages.iter().map(|message| message.position().get());
        assert!(positions.eq(0..messages.len() as u64), "{stream} has a gap");
        assert_eq!(messages.len() % 2, 0, "{stream} has half a batch");
    }
    for line in acknowledged {
        let fields: Vec<&str> = line.split(' ').collect();
        let position: usize = fields[1].parse().unwrap();
        let found = streams[fields[0]][position].global_position().to_string();
        assert_eq!(found, fields[2], "{line} was acknowledged");
    }
}
