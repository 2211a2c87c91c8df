//! A command is stored by the commit that stores its events.

use std::sync::Arc;

use conformance_suite::{assert_refused, at_once};
use dcb_core::{
    Append, AppendCondition, Command, CommandExecutor, Error, EventStore, EventType, Fault,
    RecordedCommand,
};

use super::CALLERS;
use super::fixture::{at, head, log, many, tag, tagged};

fn command(command_type: &str) -> Command {
    let command = Command::builder(command_type).data(command_type);
    command.build().expect("the command is valid")
}

async fn stored(store: &impl EventStore) -> Vec<RecordedCommand> {
    let commands = store.commands(None, u64::MAX).await;
    commands.expect("the commands can be read")
}

/// Each command's type, with the positions of its events.
async fn types_and_positions(store: &impl EventStore) -> Vec<(String, Vec<u64>)> {
    let commands = stored(store).await;
    let listed = commands.iter().map(|kept| {
        let positions = kept.positions().map(|position| position.get()).collect();
        (kept.command().command_type().to_owned(), positions)
    });
    listed.collect()
}

pub(super) async fn command_is_stored_with_its_events(store: &impl EventStore) {
    assert_eq!(stored(store).await, []);
    let first = Append::new(many(2, "a")).command(command("First"));
    store.submit(first).await.unwrap();
    store.append(tagged(&["a"])).await.unwrap();
    let second = Append::new(tagged(&["b"])).command(command("Second"));
    store.submit(second).await.unwrap();
    assert_eq!(
        types_and_positions(store).await,
        [
            ("First".to_owned(), vec![1, 2]),
            ("Second".to_owned(), vec![4])
        ]
    );
    let log = log(store).await;
    for kept in stored(store).await {
        let event = &log[kept.position().get() as usize - 1];
        assert_eq!(kept.recorded_at(), event.recorded_at());
    }
}

pub(super) async fn command_content_round_trips(store: &impl EventStore) {
    let longest = "語".repeat(EventType::MAX_CHARS);
    let contents = [
        Command::builder("Plain"),
        Command::builder(longest),
        Command::builder(r#"a"b\c{,}'%"#).data([0, 255, b'"', b'\\', 0]),
        Command::builder("Json").json(&serde_json::json!({"b": 1, "a": [true, null]})),
        Command::builder("Metadata")
            .metadata("z", "")
            .metadata(r#"a"\"#, "line\nline")
            .correlation_id("語"),
    ];
    for content in contents {
        let command = content.build().unwrap();
        let append = Append::new(tagged(&[])).command(command.clone());
        let appended = store.submit(append).await.unwrap();
        let last = stored(store).await.pop().expect("the command is stored");
        assert_eq!(
            (last.command(), last.position()),
            (&command, appended.first())
        );
    }
}

pub(super) async fn refused_append_stores_no_command(store: &impl EventStore) {
    store.append(tagged(&["a"])).await.unwrap();
    let refused = Append::new(tagged(&["a"]))
        .command(command("Refused"))
        .condition(AppendCondition::fail_if(tag("a")));
    assert_refused!(store.submit(refused.clone()).await, Error::Conflict { .. });
    let beyond = refused.condition(AppendCondition::fail_if(tag("b")).after(at(2)));
    assert_refused!(store.submit(beyond).await, Error::AfterBeyondHead { .. });
    assert_eq!((stored(store).await, head(store).await), (vec![], 1));
}

pub(super) async fn repeated_append_stores_command_once(store: &impl EventStore) {
    let event = tagged(&["a"]).with_id(uuid::Uuid::now_v7());
    let append = Append::new(event).command(command("Once"));
    for _ in 0..3 {
        store.submit(append.clone()).await.unwrap();
    }
    assert_eq!(
        types_and_positions(store).await,
        [("Once".to_owned(), vec![1])]
    );
}

pub(super) async fn pages_cover_the_command_log(store: &impl EventStore) {
    for count in [1, 3, 2, 1, 5] {
        store.append(tagged(&[])).await.unwrap();
        let append = Append::new(many(count, "a")).command(command("Counted"));
        store.submit(append).await.unwrap();
    }
    let whole = stored(store).await;
    assert_eq!(whole.len(), 5);
    for size in [1, 2, 10] {
        let mut pages: Vec<RecordedCommand> = Vec::new();
        loop {
            let after = pages.last().map(RecordedCommand::position);
            let page = store.commands(after, size).await.unwrap();
            assert!(page.len() as u64 <= size);
            if page.is_empty() {
                break;
            }
            pages.extend(page);
        }
        assert_eq!(pages, whole, "pages of {size}");
    }
}

pub(super) async fn too_large_command_is_refused(store: &impl EventStore) {
    let large = Command::builder("Large")
        .data(vec![0; 1 << 20])
        .build()
        .unwrap();
    let append = Append::new(tagged(&[])).command(large);
    assert_refused!(
        store.submit(append).await,
        Error::Invalid { field, .. } if field == "command"
    );
    assert_eq!(head(store).await, 0);
}

pub(super) async fn executor_retries_after_conflict(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
    let mut calls = 0_u64;
    let executor = CommandExecutor::new(Arc::clone(store));
    let decided = executor
        .execute(command("Twice"), |command| {
            calls += 1;
            let first = calls == 1;
            async move {
                assert_eq!(command.command_type(), "Twice");
                // The first condition sees every event and conflicts; the second sees none.
                let after = if first { None } else { store.head().await? };
                let unchanged = AppendCondition::fail_if(tag("a")).after(after);
                Ok::<_, Error>(Append::new(tagged(&["a"])).condition(unchanged))
            }
        })
        .await
        .unwrap();
    assert_eq!((decided.attempts, head(store).await), (2, 2));
    assert_eq!(
        types_and_positions(store).await,
        [("Twice".to_owned(), vec![2])]
    );
}

pub(super) async fn executor_stores_nothing_after_refusal(store: &Arc<impl EventStore + 'static>) {
    let executor = CommandExecutor::new(Arc::clone(store)).max_attempts(3);
    store.append(tagged(&["a"])).await.unwrap();
    let never = |_| async {
        let never = AppendCondition::fail_if(tag("a"));
        Ok::<_, Error>(Append::new(tagged(&["b"])).condition(never))
    };
    let exhausted = executor.execute(command("Never"), never).await;
    assert_refused!(exhausted, Error::RetriesExhausted { attempts: 3, .. });
    let nothing = |_| async { Ok::<_, Error>(Append::new([])) };
    let decided = executor.execute(command("Nothing"), nothing).await.unwrap();
    assert_eq!(decided.appended, None);
    let refuses = |_| async { Err(Fault::Closed.into()) };
    let refused = executor.execute(command("Refused"), refuses).await;
    assert_refused!(refused, Error::Fault(Fault::Closed));
    assert_eq!((stored(store).await, head(store).await), (vec![], 1));
}

pub(super) async fn concurrent_commands_are_stored_with_their_events(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let before = stored(store).await.len();
        let name = move |caller: usize| format!("{callers}.{caller}");
        at_once(store, callers, move |store, caller| async move {
            let name = name(caller);
            // One caller in three sends no command; one in four is refused.
            let mut append = Append::new(many(1 + caller % 3, &name));
            if !caller.is_multiple_of(3) {
                append = append.command(command(&name));
            }
            if caller.is_multiple_of(4) {
                store.append(tagged(&[&name])).await.unwrap();
                append = append.condition(AppendCondition::fail_if(tag(&name)));
            }
            // Refusals are expected; the stored commands are checked below.
            let _ = store.submit(append).await;
        })
        .await;
        let log = log(store).await;
        let commands = stored(store).await.split_off(before);
        let expected = (0..callers).filter(|caller| caller % 3 != 0 && caller % 4 != 0);
        assert_eq!(commands.len(), expected.count());
        for kept in commands {
            let events: Vec<_> = kept
                .positions()
                .map(|position| &log[position.get() as usize - 1])
                .collect();
            let name = kept.command().command_type();
            assert!(
                events.iter().all(|event| event.has_tag(name)),
                "{name}: {events:?}"
            );
            let all = log.iter().filter(|event| event.has_tag(name)).count();
            assert_eq!(events.len(), all, "{name}");
        }
    }
}
