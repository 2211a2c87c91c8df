//! Each command answers on each kind of place: it works there, or says why it can't.

use std::collections::BTreeSet;

use tsdb::{Db, OpenOptions};

use crate::support::{database, fed, file, folder, printed};

const EVENTS: &str = r#"{"position":1,"recordedAt":"2026-01-02T03:04:05Z","id":"0197a3c0-0000-7000-8000-000000000001","type":"A","data":1}"#;
const MESSAGES: &str = r#"{"id":"0197a3c0-0000-7000-8000-000000000001","stream":"a-1","type":"A","pos":0,"gpos":1,"data":{},"time":"2026-01-02T03:04:05Z"}"#;

/// The commands of a help text.
fn commands(group: &[&str]) -> Vec<String> {
    let help = printed(&[group, &["--help"]].concat());
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Each command with the names of those that it is one of.
fn all_commands() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for group in commands(&[]) {
        let members = commands(&[&group]);
        match members.is_empty() {
            true => drop(all.insert(group)),
            false => all.extend(members.iter().map(|name| format!("{group} {name}"))),
        }
    }
    all
}

/// The exit codes of the commands that not every kind of place has.
struct Codes {
    series: i32,
    schema: i32,
    backup: i32,
}

/// The calls of each command on a place, in an order in which they work, with their input and their exit code.
fn calls(
    events: &str,
    messages: &str,
    other: &str,
    codes: &Codes,
) -> Vec<(String, &'static str, i32)> {
    let mut calls = vec![
        (format!("events import {events} -"), EVENTS, 0),
        (format!("events append {events} B --data 1"), "", 0),
        (format!("messages import {messages} -"), MESSAGES, 0),
        (format!("messages write {messages} a-1 B"), "", 0),
        (
            format!("projections reset {events} unknown --keep-state"),
            "",
            2,
        ),
        (format!("series query {events} up"), "", codes.series),
        (format!("backup {events} {other}/copy"), "", codes.backup),
        ("schema print events".to_owned(), "", 0),
    ];
    let mut on_place = |group: &str, names: &[&str], place: &str, code| {
        calls.extend(
            names
                .iter()
                .map(|name| (format!("{group} {name} {place}"), "", code)),
        );
    };
    let look = ["query", "tail", "stats", "export", "check"];
    on_place("events", &look, events, 0);
    let look = [
        "read",
        "streams",
        "categories",
        "checkpoints",
        "stats",
        "export",
    ];
    on_place("messages", &look, messages, 0);
    on_place("projections", &["list"], events, 0);
    on_place("series", &["list", "stats", "check"], events, codes.series);
    on_place("schema", &["install", "check"], events, codes.schema);
    for (store, from) in [("events", events), ("messages", messages)] {
        let to = format!("{other}/{store}.sqlite");
        calls.push((
            format!("move --from {from} --to {to} --store {store}"),
            "",
            0,
        ));
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_answers_on_each_kind_of_place() {
    let (files, data, whole) = ([file(), file()], folder(), database("commands").await);
    let series = Db::open(format!("{}/series", data.place), OpenOptions::default());
    drop(series.expect("a database"));
    let code = |series, schema, backup| Codes {
        series,
        schema,
        backup,
    };
    let places = [
        (&files[0], &files[1], code(2, 2, 0)),
        (&data, &data, code(0, 2, 0)),
        // A database is backed up by PostgreSQL's own programs.
        (&whole, &whole, code(2, 0, 2)),
    ];
    // Others have tests of their own: those of the server, and completions, which need no place.
    let elsewhere = ["serve health", "serve schema", "serve series", "completion"];
    let mut called = BTreeSet::from(elsewhere.map(str::to_owned));
    for (events, messages, codes) in places {
        let other = folder();
        for (call, input, code) in calls(&events.place, &messages.place, &other.place, &codes) {
            let arguments: Vec<_> = call.split(' ').collect();
            let answer = fed(&arguments, input);
            assert_eq!(answer.status.code(), Some(code), "{call}: {answer:?}");
            let says_why = code == 0 || !answer.stderr.is_empty();
            assert!(says_why, "{call}: {answer:?}");
            let is_member = ["backup", "move"].iter().all(|name| *name != arguments[0]);
            called.insert(arguments[..1 + usize::from(is_member)].join(" "));
        }
    }
    assert_eq!(called, all_commands());
}
