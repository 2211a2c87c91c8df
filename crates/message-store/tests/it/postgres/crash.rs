//! The state after the server, a client or a connection has died.
//!
//! Killing a process does not test fsync, because the operating system keeps written data. Instead,
//! the tests read back the settings that make commits durable.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance_suite::effort;
use local_postgres::{Options, end_sessions};
use message_store::postgres::{Config, PostgresStore};
use message_store::{Error, ExpectedVersion, Fault, Message, MessageStore, Position, Written};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_store, message, separate_server, stream_name, wait_until, whole_category,
};

/// The sessions of the store.
const OTHERS: &str = "datname = current_database() AND pid <> pg_backend_pid()";

/// A batch and the answer of the store.
struct Sent {
    stream: String,
    messages: Vec<Message>,
    answer: Result<Vec<Written>, Error>,
}

/// Callers that write until they are stopped. Each writes to a private stream and to a shared one.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    callers: Vec<JoinHandle<Vec<Sent>>>,
}

impl Load {
    fn start(store: &PostgresStore, callers: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let caller = |number| {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                let mut sent = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let batch = send(&store, number, sent.len()).await;
                    match batch.answer {
                        Ok(_) => drop(acknowledged.fetch_add(1, Ordering::SeqCst)),
                        // A server that is down refuses immediately.
                        Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                    }
                    sent.push(batch);
                }
                sent
            })
        };
        Self {
            callers: (0..callers).map(caller).collect(),
            stop,
            acknowledged,
        }
    }

    /// Waits until this many more batches are acknowledged.
    async fn wait_for(&self, batches: u64) {
        let enough = self.acknowledged.load(Ordering::SeqCst) + batches;
        wait_until("batches are acknowledged", async || {
            self.acknowledged.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    async fn stop(self) -> Vec<Sent> {
        self.stop.store(true, Ordering::SeqCst);
        let mut sent = Vec::new();
        for caller in self.callers {
            sent.extend(caller.await.expect("no caller panics"));
        }
        sent
    }
}

/// Writes one to three messages with ids chosen by the caller.
async fn send(store: &PostgresStore, caller: usize, round: usize) -> Sent {
    let name = match round % 2 {
        0 => format!("own{caller}-1"),
        _ => "shared-1".to_owned(),
    };
    let messages = (0..=round % 3).map(|number| message(number as u64).with_id(Uuid::now_v7()));
    let messages: Vec<Message> = messages.collect();
    let any = ExpectedVersion::Any;
    let answer = store
        .write_batch(&stream_name(&name), messages.clone(), any)
        .await;
    Sent {
        stream: name,
        messages,
        answer,
    }
}

/// Asserts that the store has every acknowledged batch at its positions, no failed batch, and each
/// batch of unknown outcome entirely or not at all. Streams have no gaps and the right versions.
async fn check(store: &PostgresStore, sent: &[Sent]) {
    let all = whole_category(store, "").await;
    let mut versions: HashMap<&str, u64> = HashMap::new();
    let mut stored_at = HashMap::new();
    for message in &all {
        let next = versions.entry(message.stream_name()).or_default();
        assert_eq!(message.position().get(), *next, "{message:?}");
        *next += 1;
        let written_at = Written {
            position: message.position(),
            global_position: message.global_position(),
        };
        stored_at.insert(message.id(), written_at);
    }
    for (name, count) in versions {
        let version = store.stream_version(&stream_name(name)).await.unwrap();
        assert_eq!(version.map(Position::get), Some(count - 1));
    }
    for Sent {
        messages, answer, ..
    } in sent
    {
        let found: Vec<Written> = messages
            .iter()
            .filter_map(|message| {
                stored_at
                    .get(&message.id().expect("each message has an id"))
                    .copied()
            })
            .collect();
        match answer {
            Ok(written) => assert_eq!(&found, written, "acknowledged positions"),
            Err(Error::OutcomeUnknown { .. }) => {
                assert!(found.is_empty() || found.len() == messages.len(), "torn");
            }
            Err(error) => assert!(found.is_empty(), "answered {error}, but stored"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_server_kill() {
    let server = separate_server(Options::default()).await;
    let store = connect(Config::new(server.url())).await;
    let health = store.health().await.unwrap();
    assert!(health.is_durable, "{health:?}");
    assert!(
        health.durability.iter().all(|(_, value)| value == "on"),
        "{health:?}"
    );
    let load = Load::start(&store, 8);
    for round in 0..effort(2) as u64 {
        load.wait_for(5 + round * 7 % 20).await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    load.wait_for(10).await;
    let sent = load.stop().await;
    check(&store, &sent).await;
    // The outcome of some batches is unknown. Writing such a batch again stores it or finds it
    // stored.
    for Sent {
        stream: name,
        messages,
        answer,
    } in &sent
    {
        if matches!(answer, Err(Error::OutcomeUnknown { .. })) {
            let (name, messages) = (stream_name(name), messages.clone());
            let again = store.write_batch(&name, messages, ExpectedVersion::Any);
            again.await.expect("it is stored or found");
        }
    }
    check(&store, &sent).await;
    store.close().await;
}

/// When the store finds one lost connection, it discards all idle ones. So a call that the store does
/// not resend fails once, and not again for each lost connection.
#[tokio::test(flavor = "multi_thread")]
async fn one_lost_connection_discards_the_others() {
    let (database, store) = fresh_store().await;
    let mut reads = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        reads.spawn(async move { store.info().await });
    }
    reads.join_all().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&end_sessions(OTHERS)).await;
    let first = store.delete_checkpoint("mailer").await;
    assert!(
        matches!(first, Err(Error::Fault(Fault::Unreachable(_)))),
        "{first:?}"
    );
    assert!(!store.delete_checkpoint("mailer").await.unwrap());
    store.close().await;
}

/// A proxy between a store and its server that breaks connections.
pub(crate) struct Proxy {
    pub(crate) url: String,
    faults: Arc<Mutex<Faults>>,
}

#[derive(Clone, Copy)]
pub(crate) enum Faults {
    None,
    /// Cuts off the next connection that sends this text, before or after the server gets it.
    CutOnce {
        at: &'static str,
        forwards: bool,
    },
    /// Cuts off a connection that sends this text.
    CutAt(&'static str),
    /// Cuts off a connection that sends this text, and refuses all later connections.
    DownAt(&'static str),
    Down,
}

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let faults = Arc::new(Mutex::new(Faults::None));
        let shared_faults = Arc::clone(&faults);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !matches!(*shared_faults.lock().unwrap(), Faults::Down)
                    && let Ok(upstream) = TcpStream::connect(&server).await
                {
                    tokio::spawn(forward(client, upstream, Arc::clone(&shared_faults)));
                }
            }
        });
        Self {
            url: format!("{before}@127.0.0.1:{port}/{database}"),
            faults,
        }
    }

    pub(crate) fn set(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
    }
}

async fn forward(mut client: TcpStream, mut server: TcpStream, faults: Arc<Mutex<Faults>>) {
    let (mut from_client, mut from_server) = ([0; 16384], [0; 16384]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let sent = String::from_utf8_lossy(&from_client[..count]).into_owned();
                let now = *faults.lock().unwrap();
                match now {
                    Faults::CutOnce { at, forwards } if sent.contains(at) => {
                        *faults.lock().unwrap() = Faults::None;
                        if forwards {
                            let _ = server.write_all(&from_client[..count]).await;
                        }
                        return;
                    }
                    Faults::CutAt(text) if sent.contains(text) => return,
                    Faults::DownAt(text) if sent.contains(text) => {
                        *faults.lock().unwrap() = Faults::Down;
                        return;
                    }
                    _ => {}
                }
                let Ok(()) = server.write_all(&from_client[..count]).await else { return };
            }
            read = server.read(&mut from_server) => {
                let Ok(count @ 1..) = read else { return };
                let Ok(()) = client.write_all(&from_server[..count]).await else { return };
            }
        }
    }
}

/// The connection that terminates the session of a lost connection may be lost, too.
#[tokio::test(flavor = "multi_thread")]
async fn writes_continue_after_second_connection_loss() {
    let (database, other) = fresh_store().await;
    let proxy = Proxy::start(database.url()).await;
    let mut config = Config::new(&proxy.url);
    config.write_timeout = Duration::from_millis(300);
    let store = connect(config).await;
    let write = async |number| {
        let (name, any) = (stream_name("a-1"), ExpectedVersion::Any);
        store.write_message(&name, message(number), any).await
    };
    proxy.set(Faults::DownAt("write_batch"));
    let first = write(1).await;
    assert!(
        matches!(first, Err(Error::OutcomeUnknown { .. })),
        "{first:?}"
    );
    let is_unavailable =
        async || matches!(write(2).await, Err(Error::Fault(Fault::Unreachable(_))));
    wait_until("the store stops asking for the outcome", is_unavailable).await;
    proxy.set(Faults::CutAt("pg_terminate_backend"));
    assert!(is_unavailable().await);
    proxy.set(Faults::None);
    write(3).await.unwrap();
    assert_eq!(whole_category(&other, "").await.len(), 1);
    store.close().await;
    other.close().await;
}

const URL: &str = "REGISTRAR_TEST_URL";

#[tokio::test(flavor = "multi_thread")]
async fn writes_acknowledged_to_killed_client_are_stored() {
    let (database, store) = fresh_store().await;
    let mut acknowledged_ids: Vec<(Uuid, u64)> = Vec::new();
    for _ in 0..effort(2) {
        let mut client = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "postgres::crash::client",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(URL, database.url())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a test can run itself");
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let mut count = 0;
        while let Some(line) = lines.next_line().await.unwrap() {
            let Some((id, position)) = line
                .strip_prefix("@acknowledged ")
                .and_then(|rest| rest.split_once(' '))
            else {
                continue;
            };
            acknowledged_ids.push((id.parse().unwrap(), position.parse().unwrap()));
            count += 1;
            if count == 100 {
                client.kill().await.unwrap();
            }
        }
        assert!(count >= 100);
    }
    let all = whole_category(&store, "").await;
    let stored: HashMap<Uuid, u64> = all
        .iter()
        .map(|message| (message.id(), message.position().get()))
        .collect();
    for (id, position) in acknowledged_ids {
        assert_eq!(stored.get(&id), Some(&position));
    }
    check(&store, &[]).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test runs it in a child process"]
async fn client() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    let store = connect(Config::new(url)).await;
    println!();
    let callers: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0.. {
                    let sent = send(&store, number, round).await;
                    let written = sent.answer.expect("the server is up");
                    let mut output = std::io::stdout().lock();
                    for (message, written_at) in sent.messages.iter().zip(written) {
                        let id = message.id().expect("each message has an id");
                        let _ = writeln!(output, "@acknowledged {id} {}", written_at.position);
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}
