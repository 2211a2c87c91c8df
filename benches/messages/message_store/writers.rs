//! Batches, and concurrent writers.

use super::backends::{Backend, Postgres, Sqlite};
use super::postgres_floors::Clients;
use super::{ops, postgres_floors};
use bench::{Goal, Op, Outcome, Row, Target};
use message_store::{ExpectedVersion, MessageStore as _};
use std::hint::black_box;

/// Writes per caller in one op.
const TURNS: usize = 10;
const BATCHES: [usize; 4] = [1, 10, 100, 1000];
const WRITERS: [usize; 3] = [1, 16, 100];
const CATEGORIES: [u64; 2] = [1, 64];
/// Concurrent clients of the SQL interface.
const CLIENTS: usize = 16;
/// The rate of Message DB under pgbench, on another machine. The floor measures a function like
/// Message DB's on this machine.
const MESSAGE_DB_PER_SECOND: f64 = 10_948.0;
const SHARE: f64 = 0.8;

pub(crate) fn declare(target: &mut Target, sqlite: &Sqlite, postgres: &Postgres) {
    for messages in BATCHES {
        target.row(batch_row(sqlite, messages), &batch(sqlite, messages));
        let floor = postgres_floors::batch(postgres, messages, 1);
        let row = batch_row(postgres, messages).floor(&floor);
        target.row(row, &batch(postgres, messages));
    }
    for callers in WRITERS {
        for categories in CATEGORIES {
            let row = writers_row(sqlite, callers, categories);
            // The goals are in writes per second, and a call makes `TURNS` writes.
            let row = match callers {
                16 => row.goal(Goal::calls_per_second(20_000.0 / TURNS as f64)),
                _ => row,
            };
            target.row(row, &writers(sqlite, categories));
            let floor = postgres_floors::batch(postgres, callers, TURNS);
            let row = writers_row(postgres, callers, categories).floor(&floor);
            let row = match callers {
                16 => row.goal(Goal::calls_per_second(15_000.0 / TURNS as f64)),
                100 => row.goal(Goal::share_of(&floor, 0.6)),
                _ => row,
            };
            target.row(row, &writers(postgres, categories));
        }
    }
    clients(target, postgres);
}

fn batch_row<B: Backend>(backend: &B, messages: usize) -> Row {
    let row = Row::new("WriteMessage", backend.label())
        .variant("write_batch")
        .events(messages as u64)
        .fills("message_batches");
    row.one_op(format!("1 batch of {messages} messages to a new stream"))
}

fn batch<B: Backend>(backend: &B, messages: usize) -> Op {
    let op = Op::given(backend, |backend| async move { backend.open().await });
    op.call(move |opened, _call| async move {
        let name = ops::new_stream("account");
        let messages = vec![ops::message(); messages];
        let written = opened
            .store
            .write_batch(&name, messages, ExpectedVersion::Any);
        black_box(written.await?);
        Ok(Outcome::Success)
    })
}

fn writers_row<B: Backend>(backend: &B, callers: usize, categories: u64) -> Row {
    Row::new("WriteMessage", backend.label())
        .variant(format!("{TURNS} writes in turn, {}", over(categories)))
        .concurrency(callers)
        .events(TURNS as u64)
        .fills("message_writers")
        .one_op(format!(
            "{callers} callers that make {TURNS} writes in turn, each to a new stream, {}",
            over(categories)
        ))
}

fn over(categories: u64) -> String {
    match categories {
        1 => "one category".to_owned(),
        _ => format!("{categories} categories"),
    }
}

fn writers<B: Backend>(backend: &B, categories: u64) -> Op {
    let op = Op::given(backend, |backend| async move { backend.open().await });
    op.call(move |opened, call| async move {
        for turn in 0..TURNS as u64 {
            let category = (call.index() * TURNS as u64 + turn) % categories;
            let name = ops::new_stream(&format!("account{category}"));
            let any = ExpectedVersion::Any;
            black_box(
                opened
                    .store
                    .write_message(&name, ops::message(), any)
                    .await?,
            );
        }
        Ok(Outcome::Success)
    })
}

fn clients(target: &mut Target, postgres: &Postgres) {
    let peer = format!("Message DB {MESSAGE_DB_PER_SECOND}/s by pgbench, on another machine");
    for categories in CATEGORIES {
        let clients = Clients {
            postgres: postgres.clone(),
            clients: CLIENTS,
            categories,
            turns: TURNS,
        };
        let floor = clients.floor();
        let row = Row::new("WriteMessage", postgres.label())
            .variant(format!(
                "SQL clients, {TURNS} writes in turn, {}",
                over(categories)
            ))
            .concurrency(CLIENTS)
            .events(TURNS as u64)
            .fills("message_writers")
            .one_op(format!(
                "{CLIENTS} clients that call write_message {TURNS} times in turn, each to a new \
                 stream, {}",
                over(categories)
            ))
            .floor(&floor);
        let row = match categories {
            64 => row
                .goal(
                    Goal::calls_per_second(SHARE * MESSAGE_DB_PER_SECOND / TURNS as f64)
                        .peer(&peer),
                )
                .goal(Goal::share_of(&floor, SHARE)),
            _ => row,
        };
        target.row(row, &clients.op());
    }
}
