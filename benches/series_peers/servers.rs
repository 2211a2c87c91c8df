//! The three servers, each with the same samples.

use crate::data::{ALL, Data};
use crate::process::ServerProcess;
use bench::load::{Content, Exchange, HttpConnection};
use bench::{BoxError, Facts, Floor, Op};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tsdb::wire::remote_write;

/// The series in one request of the load.
const SERIES_PER_REQUEST: usize = 10;
const START_LIMIT: Duration = Duration::from_secs(30);

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    Ours,
    Prometheus,
    VictoriaMetrics,
}

/// The servers of a run. Each starts with the first row that needs it, and stops when this value is
/// dropped.
pub(crate) struct Servers {
    pub(crate) data: Data,
    installed: Vec<Database>,
    ours: OnceCell<ServerProcess>,
    prometheus: OnceCell<Peer>,
    victoria_metrics: OnceCell<Peer>,
}

impl Servers {
    /// Finds out which peers are installed, and says so in the head of the page.
    pub(crate) fn new(data: Data, facts: &Facts) -> Self {
        let samples = data.samples;
        facts.set("Data", format!("{ALL} series of {samples} samples each"));
        facts.set("This server", "`--data` on a temporary folder");
        let peers = [Database::Prometheus, Database::VictoriaMetrics];
        let installed = peers.into_iter().filter(|peer| {
            let version = peer.version();
            let missing = || format!("missing: there is no program `{}` here", peer.program());
            facts.set(peer.name(), version.clone().unwrap_or_else(missing));
            version.is_some()
        });
        Self {
            data,
            installed: installed.collect(),
            ours: OnceCell::new(),
            prometheus: OnceCell::new(),
            victoria_metrics: OnceCell::new(),
        }
    }

    /// The installed peers as floors of a row.
    pub(crate) fn floors(
        &self,
        op: impl Fn(Database) -> Op,
    ) -> impl Iterator<Item = (Database, Floor)> {
        let floor = move |peer: &Database| {
            let floor = Floor::new(peer.name(), "the same request", &op(*peer));
            (*peer, floor)
        };
        self.installed.iter().map(floor)
    }

    /// The address of a server that has the data.
    pub(crate) async fn address(&self, database: Database) -> Result<SocketAddr, BoxError> {
        Ok(match database {
            Database::Ours => self
                .ours
                .get_or_try_init(|| start_ours(self.data))
                .await?
                .address(),
            Database::Prometheus => {
                let started = || Peer::start(Database::Prometheus, self.data);
                self.prometheus.get_or_try_init(started).await?.address
            }
            Database::VictoriaMetrics => {
                let started = || Peer::start(Database::VictoriaMetrics, self.data);
                self.victoria_metrics
                    .get_or_try_init(started)
                    .await?
                    .address
            }
        })
    }
}

impl Database {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "This server",
            Self::Prometheus => "Prometheus",
            Self::VictoriaMetrics => "VictoriaMetrics",
        }
    }

    /// The program of a peer, as Debian names it.
    fn program(self) -> &'static str {
        match self {
            Self::Ours => "demo-server",
            Self::Prometheus => "prometheus",
            Self::VictoriaMetrics => "victoria-metrics",
        }
    }

    /// Its version and its settings; `None` if it is not installed.
    fn version(self) -> Option<String> {
        let printed = output_of(self.program(), &["--version"])?;
        let package = ["-W", "-f", "${Version}, Debian's package", self.program()];
        // VictoriaMetrics' package prints no version.
        let version = output_of("dpkg-query", &package).filter(|text| !text.is_empty());
        let version = version.unwrap_or(printed);
        let settings = self
            .settings()
            .iter()
            .map(|setting| format!(" `{setting}`"));
        Some(version + ";" + &settings.collect::<String>())
    }

    /// The settings that matter to the figures.
    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Ours => &[],
            // All samples stay in the part of the storage that takes writes, as do ours.
            Self::Prometheus => &[
                "--web.enable-remote-write-receiver",
                "--storage.tsdb.min-block-duration=24h",
                "--storage.tsdb.max-block-duration=24h",
            ],
            Self::VictoriaMetrics => &["-retentionPeriod=100y", "-search.latencyOffset=0s"],
        }
    }

    fn arguments(self, folder: &Path, port: u16) -> Vec<OsString> {
        let in_folder = |option: &str, name: &str| {
            let mut argument = OsString::from(option);
            argument.push(folder.join(name));
            argument
        };
        let (paths, others) = match self {
            Self::Ours => (Vec::new(), Vec::new()),
            Self::Prometheus => (
                vec![
                    in_folder("--config.file=", "prometheus.yml"),
                    in_folder("--storage.tsdb.path=", "data"),
                ],
                vec![format!("--web.listen-address=127.0.0.1:{port}")],
            ),
            Self::VictoriaMetrics => (
                vec![in_folder("-storageDataPath=", "data")],
                vec![format!("-httpListenAddr=127.0.0.1:{port}")],
            ),
        };
        let settings = self.settings().iter().map(OsString::from);
        paths
            .into_iter()
            .chain(others.into_iter().map(OsString::from))
            .chain(settings)
            .collect()
    }
}

/// The first line that a program prints; `None` if there is no such program.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(text.lines().next().unwrap_or_default().to_owned())
}

async fn start_ours(data: Data) -> Result<ServerProcess, BoxError> {
    let folder = tempfile::tempdir()?;
    let options = [OsString::from("--data"), folder.path().into()];
    let server = ServerProcess::start(&options, folder).await?;
    load(server.address(), data).await?;
    Ok(server)
}

/// The process of a peer. It ends when this value is dropped.
struct Peer {
    child: Child,
    address: SocketAddr,
    /// Dropped after the process.
    _folder: TempDir,
}

impl Peer {
    async fn start(database: Database, data: Data) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        // Prometheus does not start without this file. It scrapes nothing.
        std::fs::write(folder.path().join("prometheus.yml"), "global: {}\n")?;
        // The port may be taken before the peer listens. Then the start fails.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let child = Command::new(database.program())
            .args(database.arguments(folder.path(), address.port()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut peer = Self {
            child,
            address,
            _folder: folder,
        };
        peer.wait_until_ready().await?;
        load(address, data).await?;
        Ok(peer)
    }

    async fn wait_until_ready(&mut self) -> Result<(), BoxError> {
        let given_up = Instant::now() + START_LIMIT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the peer ended: {status}").into());
            }
            if counted(self.address, 0).await.is_ok() {
                return Ok(());
            }
            if Instant::now() > given_up {
                return Err("the peer did not start".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its folder is deleted, so it need not shut down in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends all samples, and waits until queries see them.
async fn load(address: SocketAddr, data: Data) -> Result<(), BoxError> {
    let mut connection = HttpConnection::open(address).await?;
    let all = data.series()?;
    for series in all.chunks(SERIES_PER_REQUEST) {
        let body = remote_write::encode(
            series
                .iter()
                .map(|(labels, samples)| (labels, &samples[..])),
        );
        let request = Exchange::post("/api/v1/write", body).content(Content::REMOTE_WRITE);
        let answer = connection.ask(&request).await?;
        if !answer.status.is_success() {
            let body = String::from_utf8_lossy(&answer.body);
            return Err(format!("the load was answered {}: {body}", answer.status).into());
        }
    }
    let wanted = all.iter().map(|(_, samples)| samples.len()).sum::<usize>() as f64;
    let given_up = Instant::now() + START_LIMIT;
    loop {
        let found = counted(address, data.end_ms()).await?;
        if found == wanted {
            return Ok(());
        }
        if Instant::now() > given_up {
            return Err(format!("{found} of {wanted} samples are there").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The samples that a query finds up to this time.
async fn counted(address: SocketAddr, end_ms: i64) -> Result<f64, BoxError> {
    // One sum for each name, because series that differ only in their names would collide.
    let sum = |name: &str| format!("sum(count_over_time({name}[4h]))");
    let query = ["bucket", "x", "y"].map(sum).join(" + ");
    let path = path(
        "query",
        &[("query", query.as_str()), ("time", &seconds(end_ms))],
    );
    let answer = HttpConnection::open(address)
        .await?
        .ask(&Exchange::get(path))
        .await?;
    if !answer.status.is_success() {
        return Err(format!("a query was answered {}", answer.status).into());
    }
    let answer: serde_json::Value = serde_json::from_slice(&answer.body)?;
    // Without samples there is no series.
    let value = answer["data"]["result"][0]["value"][1].as_str();
    value.map_or(Ok(0.0), |text| Ok(text.parse()?))
}

/// The path of a request to Prometheus' interface.
pub(crate) fn path(name: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(parameters);
    format!("/api/v1/{name}?{}", text.finish())
}

/// A time as a parameter.
pub(crate) fn seconds(time_ms: i64) -> String {
    (time_ms / 1000).to_string()
}
