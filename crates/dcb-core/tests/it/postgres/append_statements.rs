//! Every statement that appends gives the verdicts of `dcb.append` and of the memory store.
//!
//! Each append runs three times on the same log: on the memory store, by `dcb.append` in a
//! transaction that is rolled back, and through the queue, where the writer chooses the statement.
//! Only the last of the three uses what the writer remembers.

use std::collections::HashMap;

use conformance_suite::effort;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Append, AppendCondition, Appended, Bookmark, Command, Error, Event, EventStore as _, EventType,
    MemoryStore, Position, Query, QueryItem, RecordedCommand, SequencedEvent, Tag, Tracking,
};
use futures_util::future::join_all;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::support::events::{event, head, tagged, whole_log};
use crate::support::postgres::last_append::{Sent, last_append};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// More appends than a writer needs to count as uncontended.
const UNCONTENDED_APPENDS: usize = 20;
/// The number of compared rounds per log. A round is one append, or three at the same time; the
/// last two of the three share a batch.
const ROUNDS: usize = 80;
/// Two tags that many events have, but few have both.
const FREQUENT: [&str; 2] = ["often:1", "often:2"];
const RARE_TAGS: u64 = 12;
const TYPES: [&str; 3] = ["A", "B", "C"];

/// Random appends to one log.
struct RandomAppends {
    random: TestRng,
    /// Events with an id that were tried before.
    tried: Vec<Event>,
}

impl RandomAppends {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            random: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
            tried: Vec::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn next(&mut self, head: u64) -> Append {
        let mut append = Append::new(self.events());
        // A fifth have none.
        for _ in 0..[0, 0, 1, 1, 1, 1, 1, 2, 2, 3][self.below(10) as usize] {
            append = append.condition(self.condition(head));
        }
        if self.once_in(10) {
            let tracking = Tracking::new("upstream", self.below(200));
            append = append.tracking(tracking.expect("the tracking is valid"));
        }
        if self.once_in(10) {
            let command = Command::builder("Do").data(self.below(100).to_string());
            append = append.command(command.build().expect("the command is valid"));
        }
        append
    }

    fn events(&mut self) -> Vec<Event> {
        if self.once_in(15) && !self.tried.is_empty() {
            let index = self.below(self.tried.len() as u64) as usize;
            return vec![self.tried[index].clone()];
        }
        let count = if self.once_in(3) {
            1 + self.below(3)
        } else {
            1
        };
        let mut events: Vec<Event> = (0..count).map(|_| self.event()).collect();
        if self.once_in(10) {
            let id = Uuid::from_u64_pair(self.random.next_u64(), self.random.next_u64());
            events[0] = events[0].clone().with_id(id);
            self.tried.push(events[0].clone());
        }
        events
    }

    fn event(&mut self) -> Event {
        let tags = self.tags();
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        event(self.event_type(), &tags)
    }

    fn event_type(&mut self) -> &'static str {
        TYPES[self.below(3) as usize]
    }

    /// Up to three tags, perhaps one of them twice.
    fn tags(&mut self) -> Vec<String> {
        (0..self.below(4)).map(|_| self.tag()).collect()
    }

    fn tag(&mut self) -> String {
        match self.below(8) {
            0 => FREQUENT[0].to_owned(),
            1 => FREQUENT[1].to_owned(),
            _ => format!("rare:{}", self.below(RARE_TAGS)),
        }
    }

    fn condition(&mut self, head: u64) -> AppendCondition {
        let count = if self.once_in(4) {
            1 + self.below(3)
        } else {
            1
        };
        let items: Vec<QueryItem> = (0..count).map(|_| self.item()).collect();
        let query = Query::new(items).expect("the query is valid");
        let after = match self.below(16) {
            0..=2 => 0,
            3..=5 => self.below(head + 1),
            6..=9 => head.saturating_sub(self.below(12)),
            10..=14 => head,
            _ => head + 1 + self.below(3),
        };
        let mut after = Position::new(after).map(Bookmark::from);
        if let Some(after) = &mut after
            && self.once_in(12)
        {
            // No event has this id.
            after.event_id = Some(Uuid::max());
        }
        AppendCondition::fail_if(query).after(after)
    }

    fn item(&mut self) -> QueryItem {
        let types: Vec<EventType> = (0..self.below(3))
            .map(|_| {
                let name = if self.once_in(4) {
                    "Never"
                } else {
                    self.event_type()
                };
                EventType::new(name).expect("the type is valid")
            })
            .collect();
        let mut tags = self.tags();
        if self.once_in(4) {
            tags = FREQUENT.map(str::to_owned).into();
        } else if tags.is_empty() && !self.once_in(4) {
            tags = vec![format!("never:{}", self.below(3))];
        }
        let tags = tags.into_iter().map(Tag::new);
        let tags = tags.collect::<Result<Vec<_>, _>>();
        QueryItem::new(types, tags.expect("the tags are valid"))
    }
}

/// One log, with the memory store that it must agree with.
struct Log {
    config: Config,
    store: PostgresStore,
    oracle: MemoryStore,
    session: PgConnection,
    sql: Sql,
}

impl Log {
    /// A log with old events, which the writer of the store does not know.
    async fn with_old_events() -> Self {
        let config = fresh_log().await;
        let before = connect(&config).await;
        let oracle = MemoryStore::new();
        let mut old = Vec::new();
        for number in 0..15 {
            let rare = format!("rare:{}", number % RARE_TAGS);
            old.push(event("A", &[FREQUENT[0], &rare]));
            old.push(event("A", &[FREQUENT[1]]));
        }
        before.append(old.clone()).await.expect("the log is empty");
        oracle.append(old).await.expect("the log is empty");
        before.close().await;
        Self {
            store: connect(&config).await,
            oracle,
            session: PgConnection::connect(&config.url)
                .await
                .expect("the server accepts connections"),
            sql: Sql::connect(&config.url).await,
            config,
        }
    }

    async fn make_uncontended(&self) {
        for _ in 0..UNCONTENDED_APPENDS {
            let answer = self.store.append(tagged("own")).await;
            answer.expect("nothing forbids the append");
            let expected = self.oracle.append(tagged("own")).await;
            expected.expect("nothing forbids the append");
        }
    }

    /// Appends one after the other by `dcb.append`, without what the writer remembers. Writes
    /// nothing.
    async fn by_function(&mut self, appends: &[Append]) -> Vec<Verdict> {
        let mut transaction = self.session.begin().await.expect("a transaction begins");
        let mut verdicts = Vec::new();
        for append in appends {
            let answer = self.store.submit_in(&mut transaction, append.clone()).await;
            verdicts.push(verdict(&answer));
        }
        transaction.rollback().await.expect("the transaction ends");
        verdicts
    }

    async fn by_oracle(&self, appends: &[Append]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for append in appends {
            verdicts.push(verdict(&self.oracle.submit(append.clone()).await));
        }
        verdicts
    }

    /// Appends at the same time. The first append is committed alone; those that arrive meanwhile
    /// share the next batch. With at most two of them, the order of the verdicts is the order of the
    /// appends.
    async fn by_writer(&self, appends: &[Append]) -> Vec<Verdict> {
        let answers = appends
            .iter()
            .map(|append| self.store.submit(append.clone()));
        join_all(answers).await.iter().map(verdict).collect()
    }
}

/// The positions, or the error with all it tells.
type Verdict = String;

fn verdict(answer: &Result<Appended, Error>) -> Verdict {
    format!("{answer:?}")
}

/// The part of an event that does not differ between stores.
fn content(event: &SequencedEvent) -> (u64, String, Vec<String>) {
    let tags = event.tags().map(str::to_owned).collect();
    (event.position().get(), event.event_type().to_owned(), tags)
}

/// The same of each command: its positions and its data.
fn kept(commands: &[RecordedCommand]) -> Vec<(Vec<Position>, Vec<u8>)> {
    let kept = |recorded: &RecordedCommand| {
        let data = recorded.command().data().to_vec();
        (recorded.positions().collect(), data)
    };
    commands.iter().map(kept).collect()
}

/// Compares the verdicts on one log. Counts the statements, with the largest number of conditions of
/// an append.
async fn compare(seed: u64, sent: &mut HashMap<(Sent, usize), usize>) {
    let mut log = Log::with_old_events().await;
    let mut appends = RandomAppends::new(seed);
    for round in 0..ROUNDS {
        // Otherwise the last conflict decides whether the writer is optimistic.
        if !appends.once_in(5) {
            log.make_uncontended().await;
        }
        let head = head(&log.oracle).await;
        let mut batch = vec![appends.next(head)];
        if appends.once_in(4) {
            batch.push(appends.next(head));
            batch.insert(0, Append::new(tagged("own")));
            // A batch compares an `after` with the head before it, so a position beyond that head
            // gets another verdict than the same appends one after the other.
            for append in &mut batch {
                for condition in &mut append.conditions {
                    let after = Bookmark::position_of(condition.after);
                    condition.after = after.min(Position::new(head)).map(Bookmark::from);
                }
            }
        }
        let by_function = log.by_function(&batch).await;
        let by_writer = log.by_writer(&batch).await;
        let expected = log.by_oracle(&batch).await;
        let statement = last_append(&log.config, &mut log.sql).await;
        assert!(
            by_function == expected && by_writer == expected,
            "seed {seed}, round {round}, {statement:?}: {batch:#?}\nby dcb.append {by_function:#?}\n\
             by the writer {by_writer:#?}\nexpected {expected:#?}"
        );
        let conditions = batch.iter().map(|append| append.conditions.len()).max();
        *sent
            .entry((statement, conditions.unwrap_or_default()))
            .or_default() += 1;
    }
    let stored = whole_log(&log.store).await;
    let expected = whole_log(&log.oracle).await;
    assert_eq!(
        stored.iter().map(content).collect::<Vec<_>>(),
        expected.iter().map(content).collect::<Vec<_>>(),
        "seed {seed}"
    );
    let commands = log.store.commands(None, 1000).await;
    let expected = log.oracle.commands(None, 1000).await;
    assert_eq!(
        kept(&commands.expect("the log can be read")),
        kept(&expected.expect("the log can be read")),
        "seed {seed}"
    );
    assert!(log.store.stats().largest_batch > 1);
    log.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_gives_the_same_verdicts() {
    let logs = effort(4) as u64;
    println!("logs with seeds from 0 to {}", logs.saturating_sub(1));
    let mut sent = HashMap::new();
    for seed in 0..logs {
        compare(seed, &mut sent).await;
    }
    println!("{sent:#?}");
    // A condition without a lookup was settled from memory.
    for statement in [
        (Sent::Function, 0),
        (Sent::Function, 1),
        (Sent::Function, 2),
        (Sent::Function, 3),
        (Sent::FunctionWithCommands, 1),
        (Sent::Insert, 0),
        (Sent::Insert, 1),
        (Sent::InsertByKey, 1),
        (Sent::InsertByKey, 2),
    ] {
        assert!(sent.contains_key(&statement), "{statement:?} was not sent");
    }
}
