//! Servers that take remote writes: Prometheus, VictoriaMetrics, and this one.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prost::Message;
use serde_json::Value;
use tsdb::{Db, Matcher, OpenOptions};

use super::http::{call, free_address};
use super::load::{Contents, METRIC};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DemoServer,
    Prometheus,
    VictoriaMetrics,
}

/// A server that can be killed and started again, on one address with one folder.
pub(super) struct Receiver {
    kind: Kind,
    program: PathBuf,
    folder: tempfile::TempDir,
    address: SocketAddr,
    child: Option<Child>,
}

impl Receiver {
    /// Starts a server; `None` if it is not installed.
    pub(super) fn start(kind: Kind) -> Option<Self> {
        let program = match kind {
            Kind::DemoServer => Some(PathBuf::from(env!("CARGO_BIN_EXE_demo-server"))),
            Kind::Prometheus => needed("prometheus"),
            Kind::VictoriaMetrics => needed("victoria-metrics"),
        };
        let mut receiver = Self {
            kind,
            program: program?,
            folder: tempfile::tempdir().expect("the folder exists"),
            address: free_address(),
            child: None,
        };
        receiver.restart();
        Some(receiver)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/api/v1/write", self.address)
    }

    /// Starts the server again, and waits until it is ready.
    pub(super) fn restart(&mut self) {
        let (address, folder) = (self.address.to_string(), self.folder.path());
        let data = folder.join("data");
        let mut command = Command::new(&self.program);
        match self.kind {
            Kind::DemoServer => {
                let port = self.address.port().to_string();
                command.args(["--test-mode", "--port", &port, "--data"]);
                command.arg(&data).env_remove("DATABASE_URL");
            }
            Kind::Prometheus => {
                let settings = folder.join("prometheus.yml");
                fs::write(&settings, "global: {}\n").expect("it is written");
                command.arg(option("--config.file", &settings));
                command.arg(option("--storage.tsdb.path", &data));
                command.arg(format!("--web.listen-address={address}"));
                command.arg("--web.enable-remote-write-receiver");
            }
            Kind::VictoriaMetrics => {
                command.arg(option("-storageDataPath", &data));
                command.arg(format!("-httpListenAddr={address}"));
            }
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.child = Some(child.expect("the receiver starts"));
        let ready = match self.kind {
            Kind::DemoServer | Kind::VictoriaMetrics => "/health",
            Kind::Prometheus => "/-/ready",
        };
        let begun = Instant::now();
        while !call(self.address, "GET", ready, b"").is_ok_and(|(status, _)| status == 200) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.kind);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server as hard as it can bear without losing what it has acknowledged:
    /// VictoriaMetrics holds samples in memory for a second before it writes them.
    pub(super) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        match self.kind {
            Kind::VictoriaMetrics => {
                let sent = Command::new("kill").arg(child.id().to_string()).status();
                assert!(sent.expect("kill runs").success());
            }
            _ => child.kill().expect("it is killed"),
        }
        child.wait().expect("it ends");
    }

    /// All samples of the load, as the server has stored them.
    pub(super) fn contents(mut self) -> Contents {
        match self.kind {
            Kind::DemoServer => {
                self.kill();
                let data = self.folder.path().join("data/series");
                of_database(&Db::open(data, OpenOptions::default()).expect("it opens"))
            }
            Kind::Prometheus => of_prometheus(self.address),
            Kind::VictoriaMetrics => of_victoria_metrics(self.address),
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.kill();
    }
}

fn needed(program: &str) -> Option<PathBuf> {
    unmet::need(program, installed(program))
}

fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

fn of_database(db: &Db) -> Contents {
    let mut contents = Contents::new();
    for series in db
        .select(&[Matcher::metric(METRIC)], i64::MIN, i64::MAX)
        .iter()
    {
        let mut samples = Vec::new();
        series.collect_into(&mut samples);
        let samples = samples
            .iter()
            .map(|sample| (sample.timestamp_ms, sample.value.to_bits()));
        let name = series.labels().get("series").expect("the label").to_owned();
        contents.insert(name, samples.collect());
    }
    contents
}

/// A remote read, because it alone shows stale markers and the payload of a NaN.
fn of_prometheus(address: SocketAddr) -> Contents {
    let query = Query {
        start_ms: 0,
        end_ms: i64::MAX / 2,
        matchers: vec![LabelMatcher {
            name: "__name__".into(),
            value: METRIC.into(),
            ..LabelMatcher::default()
        }],
    };
    let request = ReadRequest {
        queries: vec![query],
    }
    .encode_to_vec();
    let body = snap::raw::Encoder::new()
        .compress_vec(&request)
        .expect("compressed");
    let (status, answer) = call(address, "POST", "/api/v1/read", &body).expect("an answer");
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    let answer = snap::raw::Decoder::new()
        .decompress_vec(&answer)
        .expect("compressed");
    let answer = ReadResponse::decode(answer.as_slice()).expect("a message");
    let mut contents = Contents::new();
    for series in answer
        .results
        .into_iter()
        .flat_map(|result| result.timeseries)
    {
        let name = series
            .labels
            .into_iter()
            .find(|label| label.name == "series");
        let samples = series.samples.iter();
        let bits = samples.map(|sample| (sample.timestamp_ms, sample.value.to_bits()));
        contents.insert(name.expect("the label").value, bits.collect());
    }
    contents
}

fn of_victoria_metrics(address: SocketAddr) -> Contents {
    let flushed = call(address, "GET", "/internal/force_flush", b"").expect("an answer");
    assert_eq!(flushed.0, 200);
    let path = format!("/api/v1/export?match[]={METRIC}");
    let (status, answer) = call(address, "GET", &path, b"").expect("an answer");
    assert_eq!(status, 200);
    let mut contents = Contents::new();
    for line in answer
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Value = serde_json::from_slice(line).expect("JSON");
        let list = |name: &str| line[name].as_array().expect("a list").clone();
        let times = list("timestamps")
            .into_iter()
            .map(|time| time.as_i64().expect("a time"));
        let values = list("values")
            .into_iter()
            .map(|value| value.as_f64().expect("a value"));
        let name = line["metric"]["series"]
            .as_str()
            .expect("the label")
            .to_owned();
        let samples = times.zip(values.map(f64::to_bits));
        // A line has the samples of one part of the storage.
        contents.entry(name).or_default().extend(samples);
    }
    contents
}

#[derive(Clone, PartialEq, Message)]
struct ReadRequest {
    #[prost(message, repeated, tag = "1")]
    queries: Vec<Query>,
}

#[derive(Clone, PartialEq, Message)]
struct Query {
    #[prost(int64, tag = "1")]
    start_ms: i64,
    #[prost(int64, tag = "2")]
    end_ms: i64,
    #[prost(message, repeated, tag = "3")]
    matchers: Vec<LabelMatcher>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelMatcher {
    /// 0: equal.
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    results: Vec<QueryResult>,
}

#[derive(Clone, PartialEq, Message)]
struct QueryResult {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp_ms: i64,
}
