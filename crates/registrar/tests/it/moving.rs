use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use dcb_core::{AnyStore, Append, Event, EventStore as _, Tracking};
use message_store::{
    AnyNamespaces, ExpectedVersion, GlobalPosition, Message, MessageStore as _, NamespaceName,
    Namespaces as _, StreamName,
};
use serde_json::{Value, json};

use crate::support::{
    TestPlace, command, database, each_backend, fed, file, folder, json, printed, refused,
};

const COMMANDS: u64 = 400;

/// Single events, commands of two events, and three tracked sources.
async fn fill_events(place: &str) {
    let store = AnyStore::open(place).await.expect("a log");
    let event = |number: u64| {
        let event = Event::builder("Counted").tag_pair("number", number % 7);
        event
            .metadata("by", "me")
            .json(&number)
            .build()
            .expect("an event")
    };
    for number in 0..COMMANDS {
        let command = dcb_core::Command::builder("Count")
            .json(&number)
            .build()
            .expect("a command");
        let append = Append::new([event(number), event(number)]).command(command);
        store.submit(append).await.expect("appended");
    }
    store
        .append([event(1), event(2), event(3)])
        .await
        .expect("appended");
    for (source, position) in [("a", 1), ("b", 2), ("c", 3), ("b", 9)] {
        let tracking = Tracking::new(source, position).expect("a position");
        store
            .submit(Append::new(event(position)).tracking(tracking))
            .await
            .expect("appended");
    }
    store.close().await;
}

const EVENTS: u64 = 2 * COMMANDS + 7;

async fn fill_messages(place: &str) {
    let store = message_store::AnyStore::open(place).await.expect("a store");
    for number in 0..300 {
        let stream = StreamName::new(format!("account-{}", number % 5)).expect("a name");
        // The backends write this JSON in different ways.
        let data = format!(r#"{{"b":1.50,  "a":[{number},1e2]}}"#);
        let message = Message::builder("Counted")
            .data_json(data)
            .metadata_json(r#"{"x": "ü"}"#);
        let message = message.build().expect("a message");
        store
            .write_message(&stream, message, ExpectedVersion::Any)
            .await
            .expect("written");
    }
    let last = store.head().await.expect("a head").expect("messages");
    store
        .save_checkpoint("account-invoices", last)
        .await
        .expect("saved");
    store.close().await;
}

fn moving<'a>(from: &'a str, to: &'a str, store: &'a str) -> [&'a str; 7] {
    ["move", "--from", from, "--to", to, "--store", store]
}

/// The export of a log holds all that a move must keep.
fn exported(store: &str, place: &str) -> Vec<Value> {
    json(&[store, "export", place])
}

#[tokio::test(flavor = "multi_thread")]
async fn events_move_between_any_two_backends() {
    for source in each_backend("from").await {
        fill_events(&source.place).await;
        for target in each_backend("to").await {
            let arguments = moving(&source.place, &target.place, "events");
            let moved = &json(&arguments)[0];
            assert_eq!(moved["copied"], EVENTS);
            assert_eq!(
                (&moved["through"], &moved["behind"]),
                (&json!(EVENTS), &json!(0))
            );
            assert_eq!(
                exported("events", &target.place),
                exported("events", &source.place)
            );
            // Again: nothing is left to copy, and the hash is the same.
            let again = &json(&arguments)[0];
            assert_eq!(again["copied"], 0);
            assert_eq!(again["sha256"], moved["sha256"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_move_between_any_two_backends() {
    for source in each_backend("from").await {
        fill_messages(&source.place).await;
        let mut hashes = Vec::new();
        for target in each_backend("to").await {
            let arguments = moving(&source.place, &target.place, "messages");
            let moved = &json(&arguments)[0];
            assert_eq!(
                (&moved["copied"], &moved["behind"]),
                (&json!(300), &json!(0))
            );
            let checkpoints = json(&["messages", "checkpoints", &target.place]);
            assert_eq!(
                checkpoints,
                json(&["messages", "checkpoints", &source.place])
            );
            assert_eq!(json(&arguments)[0]["copied"], 0);
            hashes.push(moved["sha256"].clone());
        }
        // The hash does not depend on how a backend writes JSON.
        assert_eq!(hashes[0], hashes[1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_move_goes_on_where_it_ended() {
    for target in each_backend("killed").await {
        let source = file();
        fill_events(&source.place).await;
        let arguments = moving(&source.place, &target.place, "events");
        let mut child = command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        while events_of(&target) == 0 {
            sleep(Duration::from_millis(1));
        }
        child.kill().expect("killed");
        child.wait().expect("an end");
        let before = events_of(&target);
        assert!(
            (1..EVENTS).contains(&before),
            "the kill was in the middle: {before}"
        );
        let moved = &json(&arguments)[0];
        // PostgreSQL may have committed what the killed process had sent.
        assert!(moved["copied"].as_u64() <= Some(EVENTS - before), "{moved}");
        assert_eq!(
            exported("events", &target.place),
            exported("events", &source.place)
        );
    }
}

/// The number of events; 0 if the log is not there yet.
fn events_of(target: &TestPlace) -> u64 {
    let ran = command(&["events", "stats", &target.place, "--json"]).output();
    let stats = serde_json::from_slice::<Value>(&ran.expect("the program runs").stdout);
    stats.map_or(0, |stats| stats["events"].as_u64().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_differs_is_refused() {
    let source = file();
    fill_events(&source.place).await;
    for target in each_backend("differs").await {
        let store = AnyStore::open(&target.place).await.expect("a log");
        let other = Event::builder("Other").build().expect("an event");
        store.append(other).await.expect("appended");
        let arguments = moving(&source.place, &target.place, "events");
        let failed = refused(1, &arguments);
        assert!(failed.contains("does not have"), "{failed}");
        assert_eq!(events_of(&target), 1, "nothing was copied");
    }
    // The comparison finds differences that the copy does not see: another event before the last one, another
    // command, another tracked position.
    let exported = printed(&["events", "export", &source.place]);
    for (part, other, found) in [
        (r#""by":"me""#, r#""by":"you""#, "position 1 "),
        (
            r#""type":"Count","data":0"#,
            r#""type":"Count","data":1"#,
            "commands",
        ),
        (
            r#""source":"b","position":9"#,
            r#""source":"b","position":10"#,
            "tracked positions",
        ),
    ] {
        let changed = exported.replacen(part, other, 1);
        assert_ne!(changed, exported, "{part}");
        for target in each_backend("differs").await {
            let imported = fed(&["events", "import", &target.place, "-"], &changed);
            assert!(imported.status.success(), "{imported:?}");
            let failed = refused(1, &moving(&source.place, &target.place, "events"));
            assert!(failed.contains(found), "{failed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_differ_are_refused() {
    let (source, target) = (file(), file());
    fill_messages(&source.place).await;
    fill_messages(&target.place).await;
    let failed = refused(1, &moving(&source.place, &target.place, "messages"));
    assert!(failed.contains("does not have"), "{failed}");
    // A difference before the last message.
    let exported = printed(&["messages", "export", &source.place]);
    let changed = exported.replacen(r#""a":[0,"#, r#""a":[9,"#, 1);
    assert_ne!(changed, exported);
    for target in each_backend("differs").await {
        let imported = fed(&["messages", "import", &target.place, "-"], &changed);
        assert!(imported.status.success(), "{imported:?}");
        let failed = refused(1, &moving(&source.place, &target.place, "messages"));
        assert!(failed.contains("global position 1 "), "{failed}");
    }
    // A consumer that has gone on at the target only.
    let store = message_store::AnyStore::open(&source.place)
        .await
        .expect("a store");
    store
        .save_checkpoint("late", GlobalPosition::new(1))
        .await
        .expect("saved");
    for target in each_backend("differs").await {
        let arguments = moving(&source.place, &target.place, "messages");
        printed(&arguments);
        let moved = message_store::AnyStore::open(&target.place)
            .await
            .expect("a store");
        moved
            .save_checkpoint("late", GlobalPosition::new(7))
            .await
            .expect("saved");
        let failed = refused(1, &arguments);
        assert!(
            failed.contains(r#"checkpoint of consumer "late""#),
            "{failed}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_follows_the_source_until_the_switch() {
    for target in each_backend("follow").await {
        let source = file();
        let store = AnyStore::open(&source.place).await.expect("a log");
        let event = || Event::builder("Counted").build().expect("an event");
        store.append(event()).await.expect("appended");
        let arguments = moving(&source.place, &target.place, "events");
        let mut child = command(&[&arguments[..], &["--follow", "--json"]].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut wait_for = |events| {
            while events_of(&target) < events {
                let ended = child.try_wait().expect("a child");
                assert!(ended.is_none(), "the move ended before the switch");
                sleep(Duration::from_millis(20));
            }
        };
        wait_for(1);
        let tracking = Tracking::new("upstream", 5).expect("a position");
        store
            .submit(Append::new(event()).tracking(tracking))
            .await
            .expect("appended");
        wait_for(2);
        // The last round copies what the writers appended before they stopped.
        store.append(event()).await.expect("appended");
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .expect("kill runs")
                .success()
        );
        let ended = child.wait_with_output().expect("an end");
        assert_eq!(ended.status.code(), Some(0));
        let moved: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        assert_eq!(
            (&moved["through"], &moved["behind"]),
            (&json!(3), &json!(0))
        );
        let tracked = json(&["events", "stats", &target.place])[0]["tracked"].clone();
        assert_eq!(tracked, json!([{"source": "upstream", "position": 5}]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_moves_with_all_its_namespaces() {
    let data = folder();
    fill_events(&format!("{}/events.sqlite", data.place)).await;
    let namespaces = format!("sqlite:{}/messages", data.place);
    let namespaces = AnyNamespaces::open(&namespaces).await.expect("a folder");
    let shop: NamespaceName = "shop".parse().expect("a name");
    let attributes = Some(r#"{"tokenHash":"x"}"#);
    namespaces.create(&shop, attributes).await.expect("created");
    namespaces.close().await;
    for namespace in ["default", "shop"] {
        let import = [
            "messages",
            "import",
            &data.place,
            "--namespace",
            namespace,
            "-",
        ];
        assert!(fed(&import, "").status.success());
        printed(&[
            "messages",
            "write",
            &data.place,
            "--namespace",
            namespace,
            "a-1",
            namespace,
        ]);
    }
    let target = database("whole").await;
    let moved = json(&["move", "--from", &data.place, "--to", &target.place]);
    assert_eq!(moved.len(), 3);
    assert_eq!(events_of(&target), EVENTS);
    for namespace in ["default", "shop"] {
        let read = ["messages", "read", &target.place, "--namespace", namespace];
        assert_eq!(json(&read)[0]["type"], namespace);
    }
    // A namespace keeps its attributes, among them the hash of its token.
    let namespaces = AnyNamespaces::open(&target.place)
        .await
        .expect("a database");
    let moved = namespaces.get(&shop).await.expect("the namespace");
    assert_eq!(moved.attributes.as_deref(), attributes);
    // Clients of Message DB find the namespace `default` in its schema.
    assert_eq!(
        json(&["messages", "read", &target.place])[0]["type"],
        "default"
    );
    refused(2, &["move", "--from", &file().place, "--to", &target.place]);
}
