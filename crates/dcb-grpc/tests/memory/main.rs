//! Clients that read nothing cost bounded memory. This is a separate target, because other tests in the
//! process would change its memory.
#![cfg(target_os = "linux")]

#[allow(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/support/mod.rs"]
mod support;

use std::fs;
use std::time::Duration;

use dcb_grpc::Limits;
use dcb_grpc::proto::dcb_client::DcbClient;
use dcb_grpc::proto::{ReadRequest, SubscribeRequest};
use tokio::time::sleep;
use tonic::transport::Channel;

use support::{Log, Served, append, event};

const EVENT_BYTES: usize = 10_000;
const EVENTS: usize = 6_000;
/// Of each kind, reads and subscriptions.
const CLIENTS: usize = 48;
const UNREAD_BYTES: usize = 4 << 20;
/// Bytes that a client may cost beyond the unread bytes: the transport's buffers, and one page of the store.
const BESIDE: usize = 2 << 20;

/// The memory of this process in bytes, without what it maps from files.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let anonymous = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = anonymous.unwrap().trim().trim_end_matches(" kB");
    1024 * kilobytes.parse::<usize>().unwrap()
}

/// The memory once it grows no more.
async fn settled_memory() -> usize {
    let mut most = memory();
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = memory();
        if now <= most {
            return most;
        }
        most = now;
    }
}

/// A client with its own connection, which takes little before it is read.
async fn idle_client(served: &Served) -> DcbClient<Channel> {
    const WINDOW: u32 = 65_535;
    let endpoint = served.endpoint().initial_stream_window_size(WINDOW);
    let endpoint = endpoint.initial_connection_window_size(WINDOW);
    DcbClient::new(endpoint.connect().await.unwrap())
}

async fn clients_that_take_nothing_cost_little(log: Log) {
    let limits = Limits {
        unread_bytes: UNREAD_BYTES,
        ..Limits::default()
    };
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let mut made = event("Made", &[]);
    made.data = vec![b'x'; EVENT_BYTES];
    for _ in 0..EVENTS / 100 {
        client
            .append(append(vec![made.clone(); 100]))
            .await
            .unwrap();
    }
    let before = settled_memory().await;
    let (mut reads, mut subscriptions) = (Vec::new(), Vec::new());
    for _ in 0..CLIENTS {
        let mut idle = idle_client(&served).await;
        reads.push(idle.read(ReadRequest::default()).await.unwrap());
        let mut idle = idle_client(&served).await;
        let subscribed = idle.subscribe(SubscribeRequest::default()).await;
        subscriptions.push(subscribed.unwrap());
    }
    let grown = settled_memory().await.saturating_sub(before);
    println!("{} clients take {grown} bytes", 2 * CLIENTS);
    let allowed = UNREAD_BYTES + 2 * CLIENTS * BESIDE;
    assert!(grown <= allowed, "{grown} bytes, {allowed} are allowed");

    // Others are served meanwhile.
    let read = client.read(ReadRequest::default()).await;
    let (mut pages, mut events) = (read.unwrap().into_inner(), 0);
    while let Some(page) = pages.message().await.unwrap() {
        events += page.events.len();
    }
    assert_eq!(events, EVENTS);
    drop((client, pages, reads, subscriptions));
    served.stop().await;
}

/// One after the other.
#[tokio::test(flavor = "multi_thread")]
async fn on_each_database() {
    clients_that_take_nothing_cost_little(Log::sqlite().await).await;
    clients_that_take_nothing_cost_little(Log::postgres().await).await;
}
