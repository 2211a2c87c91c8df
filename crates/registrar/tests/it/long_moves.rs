//! Moves of more than one page: the source is damaged, the target is full, or others write meanwhile.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use message_store::{AnyStore, ExpectedVersion, Message, MessageStore as _, StreamName};
use rusqlite::Connection;
use serde_json::json;

use crate::comparing::moved_behind;
use crate::support::{TestPlace, fed, file, folder, json as printed_json, printed, refused};

/// More than a page of a comparison has.
const LINES: u32 = 600;

/// An export of commands with one event each. The data of the last command is `last`.
fn events(last: u32) -> String {
    let mut export = String::new();
    for number in 1..=LINES {
        let data = if number == LINES { last } else { number };
        let command = json!({"type": "Count", "data": data, "events": 1});
        let id = format!("0197a3c0-0000-7000-8000-{number:012}");
        let line = json!({"id": id, "recordedAt": "2026-01-02T03:04:05Z", "type": "A",
            "data": "x".repeat(1_000), "command": command});
        writeln!(export, "{line}").expect("memory");
    }
    export
}

/// An export of messages. The data of the message before the last is `late`.
fn messages(late: u32) -> String {
    let mut export = String::new();
    for number in 1..=LINES {
        let data = if number == LINES - 1 { late } else { number };
        let id = format!("0197a3c0-0000-7000-8000-{number:012}");
        let line = json!({"id": id, "stream": format!("a-{number}"), "type": "A", "pos": 0, "gpos": number,
            "data": data, "time": "2026-01-02T03:04:05Z"});
        writeln!(export, "{line}").expect("memory");
    }
    export
}

fn import(store: &str, export: &str) -> TestPlace {
    let place = file();
    let imported = fed(&[store, "import", &place.place, "-"], export);
    assert!(imported.status.success(), "{imported:?}");
    place
}

fn moving<'a>(store: &'a str, from: &'a TestPlace, to: &'a TestPlace) -> [&'a str; 7] {
    let (from, to) = (from.place.as_str(), to.place.as_str());
    ["move", "--from", from, "--to", to, "--store", store]
}

#[test]
fn differences_after_the_first_page_are_found() {
    let sources = [
        import("events", &events(1)),
        import("messages", &messages(1)),
    ];
    let others = [
        import("events", &events(2)),
        import("messages", &messages(2)),
    ];
    let stores = ["events", "messages"]
        .into_iter()
        .zip(["commands", "global position 501 "]);
    for (((store, found), source), other) in stores.zip(&sources).zip(&others) {
        let failed = refused(1, &moving(store, source, other));
        assert!(failed.contains(found), "{failed}");
        let hashes = [source, other]
            .map(|place| printed_json(&moving(store, place, &file())).remove(0)["sha256"].clone());
        assert_ne!(hashes[0], hashes[1], "{store}");
    }
}

/// The import sees only that its input ends early.
#[test]
fn move_from_a_damaged_source_fails() {
    let source = import("events", &events(1));
    let damaged = "UPDATE dcb_event SET tags = '{' WHERE position = 550";
    Connection::open(&source.place)
        .expect("a file")
        .execute(damaged, [])
        .expect("damaged");
    let failed = refused(4, &moving("events", &source, &file()));
    assert!(failed.contains("malformed"), "{failed}");
}

/// The export sees only that its reader has gone, which is no failure of a command that prints.
#[test]
fn move_tells_why_the_target_takes_no_more() {
    let (source, target) = (import("events", &events(1)), import("events", ""));
    let trigger =
        "CREATE TRIGGER full BEFORE INSERT ON dcb_event BEGIN SELECT RAISE(ABORT, 'no more'); END";
    Connection::open(&target.place)
        .expect("a file")
        .execute(trigger, [])
        .expect("made");
    let failed = refused(4, &moving("events", &source, &target));
    assert!(failed.contains("no more"), "{failed}");
}

/// The target then has the namespaces already.
#[test]
fn move_of_all_namespaces_goes_on_where_it_ended() {
    let (source, target) = (folder(), folder());
    let place = source.place.as_str();
    let of_default = ["--namespace", "default"];
    for (store, namespace) in [("events", &[][..]), ("messages", &of_default)] {
        let imported = fed(
            &[&[store, "import", place][..], namespace, &["-"]].concat(),
            "",
        );
        assert!(imported.status.success(), "{imported:?}");
    }
    let write = [
        &["messages", "write", place][..],
        &of_default,
        &["a-1", "A"],
    ]
    .concat();
    for copied in 1..=2 {
        printed(&write);
        let moved = printed_json(&["move", "--from", place, "--to", &target.place]);
        let of_messages = moved.iter().find(|moved| moved["store"] == "messages");
        let of_messages = of_messages.expect("the messages are moved");
        assert_eq!(
            (&of_messages["copied"], &of_messages["through"]),
            (&json!(1), &json!(copied))
        );
    }
}

/// A writer and a consumer go on while the messages are moved.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_source_gets_during_a_move_of_messages_is_told() {
    let source = file();
    let store = AnyStore::open(&source.place).await.expect("a store");
    let stream = StreamName::new("a-1").expect("a name");
    let enough = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&enough);
    let write = async move || {
        let message = Message::builder("A").build().expect("a message");
        let written = store
            .write_message(&stream, message, ExpectedVersion::Any)
            .await;
        let written = written.expect("written").global_position;
        store
            .save_checkpoint("consumer", written)
            .await
            .expect("saved");
        written.get()
    };
    write().await;
    let writing = tokio::spawn(async move {
        let mut last = 0;
        while !stop.load(Ordering::SeqCst) {
            last = write().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        last
    });
    let moved = moved_behind("messages", &source);
    enough.store(true, Ordering::SeqCst);
    let head = writing.await.expect("the writer ends");
    assert!(moved <= head, "{moved} of {head}");
}
