//! The end of a move: each part of an event or a message counts for the verdict and for the hash, and the
//! report names the events that the source got meanwhile.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use dcb_core::{AnyStore, Append, Event, EventStore as _, Tracking};
use local_postgres::{LocalPostgres, Options, Source};
use serde_json::{Value, json};

use crate::support::{TestPlace, command, fed, file, json as printed_json, refused};

const EVENTS: &str = r#"
{"tracked":{"source":"upstream","position":9}}
{"position":1,"recordedAt":"2026-01-02T03:04:05.000006Z","id":"0197a3c0-0000-7000-8000-000000000001","type":"A","tags":["n:1"],"metadata":{"by":"me"},"data":1,"command":{"events":1,"type":"Count","data":7}}
{"position":2,"recordedAt":"2026-01-02T03:04:06Z","id":"0197a3c0-0000-7000-8000-000000000002","type":"A"}"#;

const MESSAGES: &str = r#"
{"id":"0197a3c0-0000-7000-8000-000000000001","stream":"a-1","type":"A","pos":0,"gpos":1,"data":{"n":1},"meta":{"x":1},"time":"2026-01-02T03:04:05.000006Z"}
{"id":"0197a3c0-0000-7000-8000-000000000002","stream":"z-1","type":"A","pos":0,"gpos":3,"data":{"n":2},"time":"2026-01-02T03:04:06Z"}
{"checkpoint":{"consumer":"late","handled":"1"}}"#;

const OTHER_ID: &str = "0197a3c0-0000-7000-8000-00000000000f";
const OTHER_TIME: &str = "2026-01-02T03:04:05.000007Z";

/// The export with another value at this place of the line.
fn changed(export: &str, line: usize, pointer: &str, value: &Value) -> String {
    let lines = export.trim().lines().enumerate().map(|(number, text)| {
        let mut content: Value = serde_json::from_str(text).expect("JSON");
        if number == line {
            let part = content.pointer_mut(pointer).expect("the line has the part");
            assert_ne!(part, value);
            *part = value.clone();
        }
        format!("{content}\n")
    });
    lines.collect()
}

fn import(store: &str, export: &str) -> TestPlace {
    let place = file();
    let imported = fed(&[store, "import", &place.place, "-"], export.trim());
    assert!(imported.status.success(), "{imported:?}");
    place
}

fn moving<'a>(store: &'a str, from: &'a TestPlace, to: &'a TestPlace) -> [&'a str; 7] {
    [
        "move",
        "--from",
        &from.place,
        "--to",
        &to.place,
        "--store",
        store,
    ]
}

/// The hash of a move to a new place.
fn hash(store: &str, source: &TestPlace) -> Value {
    printed_json(&moving(store, source, &file()))[0]["sha256"].clone()
}

/// Each difference is refused in a target that has the rest, and gives another hash.
fn each_part_counts(
    store: &str,
    (export, line): (&str, usize),
    parts: &[(&str, Value)],
    refusal: &str,
) {
    let source = import(store, export);
    let expected = hash(store, &source);
    assert_eq!(
        hash(store, &source),
        expected,
        "the hash is that of the content"
    );
    for (pointer, value) in parts {
        let other = import(store, &changed(export, line, pointer, value));
        let failed = refused(1, &moving(store, &source, &other));
        assert!(failed.contains(refusal), "{pointer}: {failed}");
        assert_ne!(hash(store, &other), expected, "{pointer}");
    }
}

#[test]
fn each_part_of_an_event_counts() {
    let parts = [
        ("/id", json!(OTHER_ID)),
        ("/recordedAt", json!(OTHER_TIME)),
        ("/type", json!("B")),
        ("/tags", json!(["n:2"])),
        ("/metadata/by", json!("you")),
        ("/data", json!(2)),
    ];
    each_part_counts("events", (EVENTS, 1), &parts, "position 1 ");
    let command = [("/command/data", json!(8)), ("/command/type", json!("Add"))];
    each_part_counts("events", (EVENTS, 1), &command, "commands");
    // The last event, which both logs have by its id.
    let last = [("/recordedAt", json!(OTHER_TIME)), ("/type", json!("B"))];
    each_part_counts("events", (EVENTS, 2), &last, "position 2 ");
}

#[test]
fn each_part_of_a_message_counts() {
    let parts = [
        ("/id", json!(OTHER_ID)),
        ("/stream", json!("b-1")),
        ("/type", json!("B")),
        ("/pos", json!(4)),
        ("/gpos", json!(2)),
        ("/data/n", json!(9)),
        ("/meta/x", json!(9)),
        ("/meta", json!(null)),
        ("/time", json!(OTHER_TIME)),
    ];
    each_part_counts("messages", (MESSAGES, 0), &parts, "global position 1 ");
    let last = [("/time", json!(OTHER_TIME)), ("/data/n", json!(9))];
    each_part_counts("messages", (MESSAGES, 1), &last, "global position 1 ");
}

/// The tracked sources of a log, and the checkpoints of consumers.
#[test]
fn places_of_readers_count_for_the_hash() {
    for (store, export, line, pointer, value) in [
        ("events", EVENTS, 0, "/tracked/position", json!(10)),
        ("events", EVENTS, 0, "/tracked/source", json!("other")),
        ("messages", MESSAGES, 2, "/checkpoint/handled", json!("3")),
        (
            "messages",
            MESSAGES,
            2,
            "/checkpoint/consumer",
            json!("other"),
        ),
    ] {
        let other = import(store, &changed(export, line, pointer, &value));
        let hashes = [hash(store, &import(store, export)), hash(store, &other)];
        assert_ne!(hashes[0], hashes[1], "{store} {pointer}");
    }
}

/// Moves a store that others write, until three moves say that the source has more. Returns the last position of the
/// source that they tell.
pub(crate) fn moved_behind(store: &str, source: &TestPlace) -> u64 {
    // A machine that is busy may let a move end between two writes.
    let moves = (0..20).map(|_| printed_json(&moving(store, source, &file())).remove(0));
    let behind = moves.filter(|moved| moved["behind"] != 0);
    let behind: Vec<Value> = behind.take(3).collect();
    assert_eq!(behind.len(), 3, "the source has more than the target");
    let number = |key: &str| behind[2][key].as_u64().expect("a number");
    number("through") + number("behind")
}

/// While the log is moved, a writer appends more commands. Some of them track positions.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_source_gets_during_a_move_is_told() {
    let source = file();
    let store = AnyStore::open(&source.place).await.expect("a log");
    let append = |number: u64| {
        let event = Event::builder("A").build().expect("an event");
        let command = dcb_core::Command::builder("Count").build();
        let append = Append::new(event).command(command.expect("a command"));
        // An export waits for a moment without a tracked position.
        match number % 5 {
            0 => append.tracking(Tracking::new("upstream", number + 1).expect("a position")),
            _ => append,
        }
    };
    store.submit(append(0)).await.expect("appended");
    let enough = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&enough);
    let writing = tokio::spawn(async move {
        for number in 1.. {
            if stop.load(Ordering::SeqCst) {
                break;
            }
            store.submit(append(number)).await.expect("appended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        store.head().await.expect("a head").expect("events")
    });
    let moved = moved_behind("events", &source);
    enough.store(true, Ordering::SeqCst);
    let head = writing.await.expect("the writer ends").position.get();
    assert!(moved <= head, "{moved} of {head}");
}

/// A server that the test may kill.
async fn server() -> LocalPostgres {
    let start = |source| {
        LocalPostgres::start(Options {
            source: Some(source),
            ..Options::default()
        })
    };
    match start(Source::Installed).await {
        Ok(server) => server,
        Err(_) => start(Source::Download).await.expect("a PostgreSQL"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_follows_waits_for_a_server_that_was_killed() {
    let server = server().await;
    let source = file();
    let store = AnyStore::open(&source.place).await.expect("a log");
    let event = || Event::builder("A").build().expect("an event");
    store.append(event()).await.expect("appended");
    let arguments = ["move", "--from", &source.place, "--to", server.url()];
    let follow = ["--store", "events", "--follow", "--json"];
    let mut child = command(&[&arguments[..], &follow].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let stderr = child.stderr.take().expect("an output");
    let stats = || command(&["events", "stats", server.url(), "--json"]).output();
    let wait_for = |events: u64| {
        loop {
            let stats = stats().expect("the program runs").stdout;
            let stats = serde_json::from_slice::<Value>(&stats);
            if stats.is_ok_and(|stats| stats["events"] == events) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
    };
    wait_for(1);
    server.kill_hard().expect("the server can be killed");
    store.append(event()).await.expect("appended");
    let told = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut told = told.filter(|line| line.contains("trying again"));
    assert!(told.next().is_some(), "the move ended");
    server.restart().await.expect("the server starts");
    wait_for(2);
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.expect("kill runs").success());
    let ended = child.wait_with_output().expect("an end");
    assert_eq!(ended.status.code(), Some(0));
    let moved: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(
        (&moved["through"], &moved["copied"]),
        (&json!(2), &json!(2))
    );
}
