use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use dcb_core::{AnyStore, Event, EventStore as _};
use serde_json::json;

use crate::support::{command, each_backend, fed, file, json, printed, refused, values};

#[tokio::test(flavor = "multi_thread")]
async fn events_are_appended_under_a_condition_and_read_back() {
    for log in each_backend("append").await {
        let place = log.place.as_str();
        fed(&["events", "import", place, "-"], "");
        let offered = [
            "events",
            "append",
            place,
            "CourseOffered",
            "-t",
            "course_id:c1",
        ];
        let once = [
            "--fail-if-type",
            "CourseOffered",
            "--fail-if-tag",
            "course_id:c1",
        ];
        let appended = json(
            &[
                &offered[..],
                &once,
                &["-d", r#"{"seats":3}"#, "-m", "by=me"],
            ]
            .concat(),
        );
        assert_eq!(appended, [json!({"position": 1})]);
        let conflict = refused(1, &[&offered[..], &once].concat());
        assert!(conflict.contains("position 1"), "{conflict}");
        // The condition of a decision that has seen the first event.
        json(&[&offered[..], &once, &["--after", "1"]].concat());

        let events = json(&[
            "events",
            "query",
            place,
            "--type",
            "CourseOffered",
            "--limit",
            "1",
        ]);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["position"], 1);
        assert_eq!(events[0]["tags"], json!(["course_id:c1"]));
        assert_eq!(events[0]["data"], json!({"seats": 3}));
        assert_eq!(events[0]["metadata"], json!({"by": "me"}));
        let newest = json(&["events", "query", place, "--backwards", "--limit", "1"]);
        assert_eq!(newest[0]["position"], 2);
        let query = r#"{"items":[{"tags":["course_id:c2"]}]}"#;
        assert!(json(&["events", "query", place, "--query", query]).is_empty());
        let text = printed(&["events", "tail", place, "-n", "1"]);
        assert!(text.contains("CourseOffered course_id:c1"), "{text}");
        assert!(
            !text.contains('\u{1b}'),
            "colours only on a terminal: {text}"
        );

        let stats = &json(&["events", "stats", place, "--types"])[0];
        assert_eq!(stats["events"], 2);
        assert_eq!(
            stats["types"],
            json!([{"type": "CourseOffered", "events": 2}])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_imported_with_ids_and_times() {
    let source = file();
    let store = AnyStore::open(&source.place).await.expect("a log");
    let events: Vec<Event> = (0..3)
        .map(|number| {
            Event::builder("Counted")
                .json(&number)
                .build()
                .expect("an event")
        })
        .collect();
    store.append(events).await.expect("appended");
    let exported = printed(&["events", "export", &source.place]);
    for target in each_backend("import").await {
        let import = ["events", "import", target.place.as_str(), "-", "--json"];
        let imported = fed(&import, &exported);
        let imported = values(&String::from_utf8(imported.stdout).expect("text"));
        assert_eq!(imported, [json!({"events": 3})]);
        // Again: nothing changes.
        assert!(fed(&import, &exported).status.success());
        assert_eq!(printed(&["events", "export", &target.place]), exported);
    }
    // The lines name the fault.
    let wrong = fed(
        &["events", "import", &source.place, "-"],
        "\n{\"type\":7}\n",
    );
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("line 2"),
        "{wrong:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_while_a_service_appends_to_it() {
    for log in each_backend("tail").await {
        let store = AnyStore::open(&log.place).await.expect("a log");
        let event = |name: &str| Event::builder(name).build().expect("an event");
        store.append(event("Before")).await.expect("appended");
        let mut child = command(&["events", "tail", &log.place, "-f", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(child.stdout.take().expect("an output")).lines();
        let mut next = || lines.next().expect("a line").expect("text");
        assert!(next().contains("Before"));
        store.append(event("After")).await.expect("appended");
        assert!(next().contains("After"));
        let pid = child.id().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status();
        assert!(killed.expect("kill runs").success());
        assert_eq!(child.wait().expect("an end").code(), Some(143));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_is_no_error() {
    let log = file();
    let store = AnyStore::open(&log.place).await.expect("a log");
    let data = "x".repeat(1000);
    let event = || {
        Event::builder("Long")
            .data(data.as_bytes())
            .build()
            .expect("an event")
    };
    store
        .append((0..1000).map(|_| event()).collect::<Vec<_>>())
        .await
        .expect("appended");
    for arguments in [["events", "query"], ["events", "export"]] {
        let mut child = command(&[&arguments[..], &[log.place.as_str()]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("an end");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(ended.stderr.is_empty(), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_listed_and_unreadable_data_is_found() {
    for log in each_backend("check").await {
        let store = AnyStore::open(&log.place).await.expect("a log");
        let first = Event::builder("Named")
            .data("{}")
            .build()
            .expect("an event");
        let second = Event::builder("Named")
            .version(2)
            .data("{}")
            .build()
            .expect("an event");
        store
            .append([first.clone(), first, second])
            .await
            .expect("appended");
        let check = ["events", "check", log.place.as_str()];
        assert_eq!(
            json(&check),
            [
                json!({"type": "Named", "version": 1, "events": 2, "first": 1}),
                json!({"type": "Named", "version": 2, "events": 1, "first": 3}),
            ]
        );
        let broken = Event::builder("Named")
            .version(3)
            .data("{")
            .build()
            .expect("an event");
        store.append(broken).await.expect("appended");
        let failed = refused(1, &check);
        assert!(failed.contains("1 versions"), "{failed}");
        assert_eq!(json(&[&check[..], &["--any-data"]].concat()).len(), 3);
    }
}
