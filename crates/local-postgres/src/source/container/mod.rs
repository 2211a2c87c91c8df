//! A container of PostgreSQL, through the command `docker`.

use std::{
    env,
    ffi::OsStr,
    process::{self, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::{process::Command, time::sleep};

use super::{Found, Server};
use crate::{Missing, Options, Source, connection, process::watchdog::Watchdog, url};

/// The version of the official image if the caller names none.
const VERSION: u16 = 17;
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
/// Time limit of a start. The engine may have to pull the image first.
const START_PATIENCE: Duration = Duration::from_secs(300);
const PORT: &str = "5432";
/// Well known: the port may be open to other hosts, and the data are a test's.
const PASSWORD: &str = "postgres";
/// Docker's default of 64 MB is too small for parallel queries over a million rows.
const SHARED_MEMORY_BYTES: u64 = 512 << 20;

/// Starts a container of `POSTGRES_IMAGE`, or of the official image.
pub(crate) async fn start(options: &Options) -> Result<Found, Missing> {
    let absent = |reason| Missing::absent(Source::Container, reason);
    let failed = |reason| Missing::failed(Source::Container, reason);
    let engine = docker(
        &["version", "--format", "{{.Server.Version}}"],
        ANSWER_PATIENCE,
    )
    .await;
    engine.map_err(|reason| absent(format!("no Docker engine: {reason}")))?;
    let image = env::var("POSTGRES_IMAGE")
        .unwrap_or_else(|_| format!("postgres:{}", options.version.unwrap_or(VERSION)));
    let container = Container::named(unique_name()).map_err(|error| failed(error.to_string()))?;
    let url = container.run(options, &image).await.map_err(failed)?;
    Ok(Found {
        source: Source::Container,
        origin: format!("container of {image}"),
        url,
        socket_url: None,
        server: Server::Container(container),
        failed: Vec::new(),
    })
}

/// A container, removed on drop and when this process ends.
pub(crate) struct Container {
    name: String,
    watchdog: Watchdog,
}

impl Container {
    /// Starts the watchdog. The container itself may never be created.
    fn named(name: String) -> std::io::Result<Self> {
        let script = include_str!("watchdog.sh");
        let shell = process::Command::new("sh");
        let watchdog = Watchdog::start(shell, script, OsStr::new(&name), Stdio::null())?;
        Ok(Self { name, watchdog })
    }

    /// Runs the container until its server answers, and returns the server's URL.
    async fn run(&self, options: &Options, image: &str) -> Result<String, String> {
        let deadline = Instant::now() + START_PATIENCE;
        let settings = options
            .server_settings()
            .map_err(|error| error.to_string())?;
        let (host, publish) = match remote_host() {
            Some(host) => (host, PORT.to_owned()),
            None => ("127.0.0.1".to_owned(), format!("127.0.0.1::{PORT}")),
        };
        let memory = SHARED_MEMORY_BYTES.to_string();
        let password = format!("POSTGRES_PASSWORD={PASSWORD}");
        let user = format!("POSTGRES_USER={}", url::USER);
        let mut arguments: Vec<&str> = ["run", "--detach", "--name", &self.name].to_vec();
        arguments.extend(["--shm-size", &memory, "--publish", &publish]);
        arguments.extend(["--env", &password, "--env", &user, image]);
        let settings: Vec<String> = settings
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        arguments.extend(settings.iter().flat_map(|setting| ["-c", setting]));
        docker(&arguments, START_PATIENCE).await?;
        let published = docker(&["port", &self.name, PORT], ANSWER_PATIENCE).await?;
        let port = published
            .lines()
            .next()
            .and_then(|line| line.rsplit(':').next());
        let port = port.and_then(|port| port.trim().parse().ok());
        let port = port.ok_or_else(|| format!("no port is published: {published}"))?;
        let url = url::tcp(&host, port, Some(PASSWORD));
        self.answers(&url, deadline).await?;
        Ok(url)
    }

    /// Waits until the server takes connections. While the image initialises its data folder, the
    /// server has no port.
    async fn answers(&self, url: &str, deadline: Instant) -> Result<(), String> {
        let name = self.name.as_str();
        loop {
            let Err(refusal) = connection::execute(url, "SELECT 1".to_owned()).await else {
                return Ok(());
            };
            let running = ["inspect", "--format", "{{.State.Running}}", name];
            let running = docker(&running, ANSWER_PATIENCE).await?;
            if running.trim() != "true" || Instant::now() > deadline {
                let log = docker(&["logs", "--tail", "5", name], ANSWER_PATIENCE).await?;
                return Err(format!(
                    "the server does not answer: {}; {log}",
                    refusal.reason
                ));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut remove = process::Command::new("docker");
        remove.args(["rm", "--force", "--volumes", &self.name]);
        remove
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // If the removal fails, the watchdog tries it too.
        if remove.status().is_ok_and(|status| status.success()) {
            let _ = self.watchdog.tell("done");
        }
    }
}

/// Runs `docker` and returns what it printed, on both outputs. If the caller drops the future, the
/// command ends.
async fn docker(arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut command = Command::new("docker");
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match tokio::time::timeout(limit, command.output()).await {
        Ok(output) => output.map_err(|error| format!("docker: {error}"))?,
        Err(_) => return Err(format!("docker {} took over {limit:?}", arguments[0])),
    };
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.push_str(&String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(printed),
        false => Err(printed.trim().to_owned()),
    }
}

/// The engine's host, if `DOCKER_HOST` names one.
fn remote_host() -> Option<String> {
    let engine = env::var("DOCKER_HOST").ok()?;
    let (scheme, place) = engine.split_once("://")?;
    if !matches!(scheme, "tcp" | "ssh") {
        return None;
    }
    let place = place.rsplit('@').next()?;
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    Some(host.to_owned())
}

/// The container's name. It is chosen before the engine creates the container, so that the watchdog
/// can remove the container even if this process dies during the creation.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (id, millis) = (process::id(), now.as_millis());
    format!("local-postgres-{id}-{count}-{millis}")
}
