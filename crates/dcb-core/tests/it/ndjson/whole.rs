//! A log keeps its facts in a move from each backend to each.

use std::time::{Duration, UNIX_EPOCH};

use dcb_core::ndjson::{ImportOptions, export, import};
use dcb_core::sqlite::{self, SqliteStore};
use dcb_core::{
    AnyStore, Append, Command, Error, Event, EventStore, MemoryStore, Query, ReadOptions, Tracking,
};
use futures_util::future::join_all;

use super::lines::{assert_same, exported, hard_events, imported};
use crate::support::events::{event, tagged, unless, whole_log};
use crate::support::postgres::fresh_store;

/// An empty log of each backend.
async fn empty_logs() -> [AnyStore; 3] {
    let sqlite = SqliteStore::open(sqlite::Config::memory()).await;
    [
        AnyStore::Memory(MemoryStore::new()),
        AnyStore::Sqlite(sqlite.unwrap()),
        AnyStore::Postgres(fresh_store().await),
    ]
}

fn command(number: u64) -> Command {
    Command::builder(format!("Command \"{number}\""))
        .metadata("zeta", "1")
        .metadata("alpha", "line\nbreak")
        .data(if number == 1 {
            b"\x00\xff".to_vec()
        } else {
            b"{\"a\": 1}".to_vec()
        })
        .build()
        .unwrap()
}

/// Events with and without commands, and positions of three sources, at several times.
async fn fill(store: &AnyStore) {
    store.append(hard_events()).await.unwrap();
    for number in 1..=3 {
        let events = vec![tagged("a"); number as usize];
        let append = Append::new(events).command(command(number));
        let append = append.tracking(Tracking::new("upstream \"ü\"", number).unwrap());
        store.submit(append).await.unwrap();
        store.append(tagged("b")).await.unwrap();
    }
    for source in ["billing", "campus"] {
        let tracking = Tracking::new(source, 1 << 40).unwrap();
        store
            .submit(Append::new(tagged("c")).tracking(tracking))
            .await
            .unwrap();
    }
}

/// Compares everything that a log keeps.
async fn assert_same_log(left: &AnyStore, right: &AnyStore) {
    assert_same(&whole_log(left).await, &whole_log(right).await);
    let commands = async |store: &AnyStore| store.commands(None, 1000).await.unwrap();
    assert_eq!(commands(left).await, commands(right).await);
    for source in ["upstream \"ü\"", "billing", "campus"] {
        let tracked = async |store: &AnyStore| store.tracked(source).await.unwrap();
        assert_eq!(tracked(left).await, tracked(right).await, "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_is_whole_after_a_move_between_any_two_backends() {
    for from in empty_logs().await {
        fill(&from).await;
        for to in empty_logs().await {
            imported(&to, &exported(&from).await).await;
            assert_same_log(&from, &to).await;
            assert_eq!(
                to.all_tracked().await.unwrap(),
                from.all_tracked().await.unwrap()
            );
            // Once more changes nothing.
            imported(&to, &exported(&from).await).await;
            assert_same_log(&from, &to).await;
            to.close().await;
        }
        from.close().await;
    }
}

/// An upstream position that was handled in the old log is not handled again in the new one.
#[tokio::test(flavor = "multi_thread")]
async fn tracked_position_is_refused_after_the_move() {
    for to in empty_logs().await {
        let from = MemoryStore::new();
        let tracked = || Tracking::new("upstream", 7).unwrap();
        let append = Append::new(tagged("a")).tracking(tracked());
        from.submit(append).await.unwrap();
        imported(&to, &exported(&from).await).await;
        let again = to
            .submit(Append::new(tagged("a")).tracking(tracked()))
            .await;
        assert!(
            matches!(again, Err(Error::AlreadyTracked { tracked: 7, .. })),
            "{again:?}"
        );
        to.close().await;
    }
}

/// A time follows its event past the refused requests of its batch.
#[tokio::test(flavor = "multi_thread")]
async fn times_of_a_batch_with_refused_requests_are_kept() {
    const REQUESTS: u64 = 60;
    let time = |number: u64| UNIX_EPOCH + Duration::from_secs(number);
    for store in empty_logs().await {
        store.append(tagged("taken")).await.unwrap();
        let submit = async |number: u64| {
            let event = |tag: &str, time| {
                let event = tagged(tag).to_builder().recorded_at(time);
                event
                    .metadata("number", number.to_string())
                    .build()
                    .unwrap()
            };
            let events = [
                event("first", time(number)),
                event("second", time(1_000 + number)),
            ];
            let tag = if number.is_multiple_of(3) {
                "taken"
            } else {
                "free"
            };
            let append = Append::new(Vec::from(events)).condition(unless(tag));
            store.submit(append).await.is_ok()
        };
        let accepted = join_all((0..REQUESTS).map(submit)).await;
        assert!((0..REQUESTS).all(|number| accepted[number as usize] != number.is_multiple_of(3)));
        let log = whole_log(&store).await;
        assert_eq!(log.len() as u64, 1 + 2 * (REQUESTS - REQUESTS / 3));
        for event in &log[1..] {
            let number: u64 = event.metadata_value("number").unwrap().parse().unwrap();
            let later = if event.has_tag("second") { 1_000 } else { 0 };
            assert_eq!(event.recorded_at(), time(later + number), "{event:?}");
        }
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earliest_and_latest_times_are_kept() {
    let end_of_9999 = UNIX_EPOCH + Duration::from_secs(253_402_300_800);
    let times = [
        UNIX_EPOCH,
        UNIX_EPOCH + Duration::from_micros(1),
        UNIX_EPOCH + Duration::from_secs(946_684_800),
        end_of_9999 - Duration::from_micros(1),
    ];
    let at = |time| Event::builder("Happened").recorded_at(time).build();
    for store in empty_logs().await {
        let events: Vec<Event> = times.map(|time| at(time).unwrap()).into();
        store.append(events).await.unwrap();
        // In one batch with an event that brings no time, and with one that is refused.
        let log = whole_log(&store).await;
        assert!(log.iter().map(|event| event.recorded_at()).eq(times));
        store
            .append([tagged("now"), at(UNIX_EPOCH).unwrap()])
            .await
            .unwrap();
        let log = whole_log(&store).await;
        assert_eq!(log[5].recorded_at(), UNIX_EPOCH);
        assert!(log[4].recorded_at() > UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        store.close().await;
    }
    let before = UNIX_EPOCH - Duration::from_micros(1);
    for time in [before, end_of_9999] {
        let refused = at(time);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "recorded_at"),
            "{refused:?}"
        );
    }
}

/// The error of an import.
async fn refusal(store: &impl EventStore, lines: &str) -> String {
    let refused = import(store, lines.as_bytes(), ImportOptions::new(), |_| ()).await;
    match refused {
        Err(failed @ Error::Import { .. }) => failed.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A target that has the events, from a move that left the rest out.
#[tokio::test]
async fn command_or_position_of_events_that_are_there_is_refused_by_its_line() {
    let from = AnyStore::Memory(MemoryStore::new());
    let append = Append::new(tagged("a")).command(command(1));
    from.submit(append).await.unwrap();
    let lines = String::from_utf8(exported(&from).await).unwrap();
    let to = MemoryStore::new();
    let events: Vec<Event> = whole_log(&from)
        .await
        .into_iter()
        .map(|one| one.into_event())
        .collect();
    to.append(events).await.unwrap();
    let refused = refusal(&to, &lines).await;
    assert!(refused.starts_with("line 1 can't be imported"), "{refused}");
    assert!(refused.contains("without this command"), "{refused}");

    let (_, event) = lines.split_once("\"id\"").unwrap();
    let (event, _) = event.split_once(",\"command\"").unwrap();
    let tracked = "{\"tracked\":{\"source\":\"s\",\"position\":7}}";
    let refused = refusal(&to, &format!("{tracked}\n{{\"id\"{event}}}")).await;
    assert!(
        refused.starts_with("line 1 can't be imported: no new event"),
        "{refused}"
    );
}

#[tokio::test]
async fn incomplete_command_is_refused() {
    let with = |command: &str| format!("{{\"type\":\"A\",\"command\":{command}}}\n");
    let two = with("{\"events\":2,\"type\":\"C\"}");
    for (lines, reason) in [
        (
            two.clone(),
            "line 1 can't be imported: 1 events of its command are missing",
        ),
        (
            two.repeat(2),
            "line 2 can't be imported: the event belongs to the command",
        ),
        (with("{\"events\":0,\"type\":\"C\"}"), "at least one event"),
        (with("{\"events\":1,\"type\":\"C\",\"tags\":[]}"), "tags"),
    ] {
        let refused = refusal(&MemoryStore::new(), &lines).await;
        assert!(refused.contains(reason), "{refused}");
    }
}

/// A part of a log is no log: it has no tracked positions, and commands only with their events.
#[tokio::test]
async fn matching_events_alone_bring_their_commands() {
    let from = MemoryStore::new();
    let events = vec![
        event("Kept", &["a"]),
        event("Other", &["b"]),
        event("Kept", &["a"]),
    ];
    let append = Append::new(events).command(command(1));
    let append = append.tracking(Tracking::new("s", 1).unwrap());
    from.submit(append).await.unwrap();
    let mut lines = Vec::new();
    let kept = Query::builder().tag("a").build().unwrap();
    let options = ReadOptions::new();
    export(&from, &kept, options, &mut lines, |_| ())
        .await
        .unwrap();
    let to = MemoryStore::new();
    imported(&to, &lines).await;
    let commands = to.commands(None, 10).await.unwrap();
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].positions().count(), 2);
    assert_eq!(to.tracked("s").await.unwrap(), None);
    let backwards = ReadOptions::new().backwards();
    let refused = export(&from, &kept, backwards, &mut lines, |_| ()).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
}
