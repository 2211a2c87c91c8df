//! The memory of a server process, with `--series-bytes`. A target of these tests alone: beside others the
//! upkeep of the index lags behind the writes, and the memory would measure the load of the machine.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "../it/series/process.rs"]
mod process;

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use conformance_suite::effort_up_to;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use process::Process;

const BUDGET: usize = 16 << 20;
/// What the process may take: the series, with the unused space of the allocator, and the rest of
/// the server.
const BOUND: usize = BUDGET / 2 * 3 + (64 << 20);

struct Server {
    process: Process,
    http: Client<HttpConnector, Full<Bytes>>,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("the folder exists");
        let bytes = BUDGET.to_string();
        Self {
            process: Process::start(folder.path(), &["--series-bytes", &bytes]),
            http: Client::builder(TokioExecutor::new()).build_http(),
            _folder: folder,
        }
    }

    /// Writes lines, and checks the memory.
    async fn write(&self, lines: String) {
        let url = format!("http://{}/write?precision=ms", self.process.address);
        let request = axum::http::Request::post(url).body(Full::new(lines.into()));
        let sent = self.http.request(request.expect("the request is valid"));
        let answer = sent.await.expect("the server answers");
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        self.check();
    }

    /// Reads all of an answer. Returns its length.
    async fn read(&self, path: &str) -> usize {
        let url = format!("http://{}{path}", self.process.address);
        let answer = self.http.get(url.parse().expect("the path is valid")).await;
        let answer = answer.expect("the server answers");
        assert_eq!(answer.status(), StatusCode::OK);
        let body = answer.into_body().collect().await;
        body.expect("the body is complete").to_bytes().len()
    }

    /// Waits until the process takes at most `bound`. What is freed goes back little by little.
    async fn returns_memory(&self, bound: usize) {
        for _ in 0..60 {
            if self.process.resident_bytes() <= bound {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let used = self.process.resident_bytes();
        panic!("{used} bytes, {bound} are allowed");
    }

    #[track_caller]
    fn check(&self) {
        let used = self.process.resident_bytes();
        assert!(used <= BOUND, "{used} bytes, {BOUND} are allowed");
    }
}

/// Each series lives for one sample. The index once took more than the samples, beside the budget.
#[tokio::test]
async fn memory_stays_in_bounds_while_series_come_and_go() {
    let server = Server::start();
    for round in 0..effort_up_to(12, 120) {
        let mut lines = String::new();
        for number in 0..10_000 {
            let job = number % 50;
            let _ = writeln!(
                lines,
                "churn,pod=pod-{round}-{number},job={job} v=1 {round}000"
            );
        }
        server.write(lines).await;
    }
}

/// The samples and answers of these queries take some 400 MB. Once, 140 MB of them stayed with the process.
#[tokio::test]
async fn memory_of_large_queries_is_returned() {
    let server = Server::start();
    let mut lines = String::new();
    for host in 0..1_000 {
        for sample in 0..200 {
            let _ = writeln!(
                lines,
                "m,host={host} v={} {sample}0000",
                rand::random::<f64>()
            );
        }
    }
    server.write(lines).await;
    let at_rest = server.process.resident_bytes();
    let query = "/api/v1/query_range?query=m_v&start=0&end=2000&step=1";
    let all = futures_util::future::join_all((0..4).map(|_| server.read(query)));
    assert!(all.await.iter().all(|length| *length > 50_000_000));
    assert!(server.process.peak_bytes() > at_rest + (200 << 20));
    server.returns_memory(at_rest + (32 << 20)).await;
}

/// Random values compress least.
#[tokio::test]
async fn memory_stays_in_bounds_with_constant_series_and_after_a_large_query() {
    let server = Server::start();
    let rounds = effort_up_to(24, 140);
    for round in 0..rounds {
        let mut lines = String::new();
        for host in 0..1_000 {
            for sample in 0..100 {
                let (value, time) = (rand::random::<f64>(), round * 100 + sample);
                let _ = writeln!(lines, "m,host={host} v={value} {time}000");
            }
        }
        server.write(lines).await;
    }
    let time = rounds * 100;
    let length = server
        .read(&format!("/api/v1/query?query=m_v[20m]&time={time}"))
        .await;
    assert!(length > 20_000_000, "{length} bytes");
    server.returns_memory(BOUND).await;
}
