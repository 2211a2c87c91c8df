//! The demo server's message interface under load, next to the same calls of the store.
//!
//! 16 connections. Each sends its next request when the last one is answered: a write to a new
//! stream, or a read of the first 10 of the 100 messages of a stream. The server is this program in
//! a second process, on SQLite in memory or on PostgreSQL. All processes share the cores.

use crate::backends::{Backend, Postgres, Sqlite};
use crate::loads::{self, SameAnswer, Times};
use crate::process::ServerProcess;
use bench::load::{Direct, DirectService, Exchange, Exchanges, HttpService, Service};
use bench::report::LIBRARY;
use bench::{BoxError, Goal, Outcome, Row, Target};
use message_store::{ExpectedVersion, Message, MessageStore, StreamName, StreamRead};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const CALLERS: usize = 16;
const DATA: &str = r#"{"accountId":"123","amount":11,"by":"Ada"}"#;
const READ_STREAM: &str = "account-read";
/// Messages of that stream.
const MESSAGES: usize = 100;

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    let times = Times::for_profile(target.profile());
    let postgres = Postgres::new(target);
    loads::set_facts(target);
    for method in Method::ALL {
        rows(target, times, &Sqlite::memory(), method);
        rows(target, times, &postgres, method);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Write,
    Get,
}

/// A backend of a server.
trait Served: Backend {
    /// The goal for writes per second.
    const WRITES: f64;

    fn serve(&self) -> impl Future<Output = Result<ServerProcess, BoxError>> + Send;
}

impl Served for Sqlite {
    const WRITES: f64 = 25_000.0;

    async fn serve(&self) -> Result<ServerProcess, BoxError> {
        ServerProcess::start(&[], ()).await
    }
}

impl Served for Postgres {
    const WRITES: f64 = 8_000.0;

    async fn serve(&self) -> Result<ServerProcess, BoxError> {
        let database = self.database().await?;
        let options = ["--database-url".into(), database.url().into()];
        ServerProcess::start(&options, database).await
    }
}

fn rows<B: Served>(target: &mut Target, times: Times, backend: &B, method: Method) {
    let row = || {
        Row::new(method.name(), backend.label())
            .concurrency(CALLERS)
            .events(method.messages())
            .one_op(method.text())
            .fills("message_http")
    };
    let goals = match method {
        Method::Write => row().goal(Goal::calls_per_second(B::WRITES)),
        Method::Get => row(),
    };
    let load = loads::load(times.closed(CALLERS), backend, move |backend| async move {
        let server = backend.serve().await?;
        if method == Method::Get {
            for _ in 0..MESSAGES {
                server.ask(write(READ_STREAM)).await?;
            }
        }
        let next = move |_| method.exchanges();
        Ok(HttpService::new(server.address(), next, server))
    });
    target.load(goals.goal(Goal::no_failed_call()), load);
    let library = loads::load(times.closed(CALLERS), backend, move |backend| {
        library(backend, method)
    });
    target.load(row().variant(LIBRARY), library);
}

impl Method {
    const ALL: [Self; 2] = [Self::Write, Self::Get];

    fn name(self) -> &'static str {
        match self {
            Self::Write => "stream.write",
            Self::Get => "stream.get",
        }
    }

    fn messages(self) -> u64 {
        match self {
            Self::Write => 1,
            Self::Get => 10,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Write => "1 message with 42 bytes of JSON to a new stream",
            Self::Get => "the first 10 of the 100 messages of a stream",
        }
    }

    /// The requests of a caller.
    fn exchanges(self) -> Exchanges {
        match self {
            Self::Write => Box::new(|| write(&new_stream())),
            // The request is built once. Building it is not the work of the server.
            Self::Get => {
                let body = format!(r#"["stream.get","{READ_STREAM}",{{"batchSize":10}}]"#);
                let same =
                    SameAnswer::new(|rows| rows.as_array().is_some_and(|all| all.len() == 10));
                Box::new(move || same.judge(Exchange::post("/rpc", body.clone())))
            }
        }
    }
}

/// The name of a stream without messages.
fn new_stream() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("account-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn write(stream: &str) -> Exchange {
    let body = format!(r#"["stream.write","{stream}",{{"type":"Deposited","data":{DATA}}}]"#);
    Exchange::post("/rpc", body).judge(|answer| {
        let answer: Value = serde_json::from_slice(&answer.body)?;
        match (
            answer["position"].as_u64(),
            answer["globalPosition"].as_u64(),
        ) {
            (Some(_), Some(1..)) => Ok(Outcome::Success),
            _ => Err(format!("unexpected answer: {answer}").into()),
        }
    })
}

/// The same calls of the store.
async fn library<B: Backend>(backend: B, method: Method) -> Result<impl Service, BoxError> {
    let opened = Arc::new(backend.open().await?);
    let read = StreamName::new(READ_STREAM)?;
    if method == Method::Get {
        let messages = vec![message()?; MESSAGES];
        let any = ExpectedVersion::Any;
        opened.store.write_batch(&read, messages, any).await?;
    }
    Ok(DirectService::new(move |_| {
        let (opened, read) = (Arc::clone(&opened), read.clone());
        move || {
            let (opened, read) = (Arc::clone(&opened), read.clone());
            // Built here, before the call is timed.
            let new = (StreamName::new(new_stream()), message());
            Direct::new(async move {
                match method {
                    Method::Write => {
                        let (stream, message) = (new.0?, new.1?);
                        let any = ExpectedVersion::Any;
                        opened.store.write_message(&stream, message, any).await?;
                    }
                    Method::Get => {
                        let first = StreamRead::new().batch_size(10);
                        let found = opened.store.get_stream_messages(&read, first).await?;
                        if found.len() != 10 {
                            return Err(format!("{} messages were read", found.len()).into());
                        }
                    }
                }
                Ok(Outcome::Success)
            })
        }
    }))
}

fn message() -> Result<Message, message_store::Error> {
    Message::builder("Deposited").data_json(DATA).build()
}
