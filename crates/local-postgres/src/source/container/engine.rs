//! Runs a container on a thread that has its own runtime. The client of the engine works only on
//! the runtime that opened its connections. When a [`Container`] is dropped, the client must still
//! remove the container, but the caller's runtime may have ended.

use std::{
    env,
    error::Error,
    ffi::OsStr,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use testcontainers_modules::{
    postgres::Postgres,
    testcontainers::{
        ContainerAsync, ContainerRequest, ImageExt as _, core::client::docker_client_instance,
        runners::AsyncRunner as _,
    },
};
use tokio::{runtime::Builder, sync::oneshot, time::timeout};

use crate::{Durability, Missing, Options, Source, process::watchdog::Watchdog, url};

/// The version of the official image if the caller names none.
const VERSION: u16 = 17;
const PING_PATIENCE: Duration = Duration::from_secs(5);
/// Time limit of a start. The engine may have to pull the image first.
const START_PATIENCE: Duration = Duration::from_secs(300);
const PORT: u16 = 5432;
/// The password that the testcontainers module sets. The port may be open to other hosts.
const PASSWORD: &str = "postgres";
/// Docker's default of 64 MB is too small for parallel queries over a million rows.
const SHARED_MEMORY_BYTES: u64 = 512 << 20;

/// A running container, removed on drop and when this process ends.
pub(crate) struct Container {
    url: String,
    /// When this is dropped, the thread removes the container.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Container {
    /// Starts a container of `POSTGRES_IMAGE`, or of the default image. Returns the container and
    /// the image's name.
    pub(crate) async fn start(options: &Options) -> Result<(Self, String), Missing> {
        let failed = |reason: String| Missing::failed(Source::Container, reason);
        let image = env::var("POSTGRES_IMAGE")
            .unwrap_or_else(|_| format!("postgres:{}", options.version.unwrap_or(VERSION)));
        let name = unique_name();
        let request = request(options, &image, &name).map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let (ready, answer) = oneshot::channel();
        let life = move || live(request, &name, ready, stopped);
        let thread = thread::Builder::new()
            .name("local-postgres".to_owned())
            .spawn(life);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        let mut container = Self {
            url: String::new(),
            stop: Some(stop),
            thread: Some(thread),
        };
        let ended = |_| failed("the thread that runs the container ended".to_owned());
        container.url = answer.await.map_err(ended)??;
        Ok((container, image))
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the panic was printed and the watchdog has removed the
            // container.
            let _ = thread.join();
        }
    }
}

fn live(
    request: ContainerRequest<Postgres>,
    name: &str,
    ready: oneshot::Sender<Result<String, Missing>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let failed = |reason: String| Missing::failed(Source::Container, reason);
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(ready.send(Err(failed(error.to_string())))),
    };
    runtime.block_on(async {
        if let Err(reason) = engine_answers().await {
            return drop(ready.send(Err(Missing::absent(Source::Container, reason))));
        }
        let watchdog = match watch(name) {
            Ok(watchdog) => watchdog,
            Err(error) => return drop(ready.send(Err(failed(error.to_string())))),
        };
        let started = tokio::select! {
            started = run(request) => started,
            // The caller dropped the future of `start`. If the engine still creates the container,
            // the watchdog removes it.
            _ = &mut stopped => return,
        };
        match started {
            Err(reason) => drop(ready.send(Err(failed(reason)))),
            Ok((container, url)) => {
                let _ = ready.send(Ok(url));
                let _ = stopped.await;
                // If the removal fails, the watchdog tries it too.
                if container.rm().await.is_ok() {
                    let _ = watchdog.tell("done");
                }
            }
        }
    });
}

async fn engine_answers() -> Result<(), String> {
    let absent = |error: &dyn Error| format!("no Docker engine: {error}");
    let engine = docker_client_instance()
        .await
        .map_err(|error| absent(&error))?;
    match timeout(PING_PATIENCE, engine.ping()).await {
        Ok(answer) => answer.map(drop).map_err(|error| absent(&error)),
        Err(late) => Err(absent(&late)),
    }
}

async fn run(
    request: ContainerRequest<Postgres>,
) -> Result<(ContainerAsync<Postgres>, String), String> {
    let started = timeout(START_PATIENCE, request.start()).await;
    let container = started
        .map_err(|_| format!("no container in {} s", START_PATIENCE.as_secs()))?
        .map_err(|error| error.to_string())?;
    let host = container
        .get_host()
        .await
        .map_err(|error| error.to_string())?
        .to_string();
    let port = container
        .get_host_port_ipv4(PORT)
        .await
        .map_err(|error| error.to_string())?;
    // The engine publishes the port on IPv4, but `localhost` may resolve to IPv6 first.
    let host = if host == "localhost" {
        "127.0.0.1"
    } else {
        &host
    };
    let url = url::tcp(host, port, Some(PASSWORD));
    Ok((container, url))
}

fn request(
    options: &Options,
    image: &str,
    name: &str,
) -> Result<ContainerRequest<Postgres>, String> {
    let (repository, tag) = split_image(image);
    let settings = options
        .server_settings()
        .map_err(|error| error.to_string())?;
    let arguments = settings
        .into_iter()
        .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]);
    // By default, the testcontainers module adds fsync=off.
    let postgres = match options.durability {
        Durability::Durable => Postgres::default().with_fsync_enabled(),
        Durability::Relaxed => Postgres::default(),
    };
    Ok(postgres
        .with_name(repository)
        .with_tag(tag)
        .with_container_name(name)
        .with_shm_size(SHARED_MEMORY_BYTES)
        .with_cmd(arguments))
}

/// Splits `name[:tag]`. A colon before the last slash belongs to a registry's port.
fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

fn watch(name: &str) -> std::io::Result<Watchdog> {
    let script = include_str!("watchdog.sh");
    Watchdog::start(Command::new("sh"), script, OsStr::new(name), Stdio::null())
}

/// The container's name. It is chosen before the engine creates the container, so that the watchdog
/// can remove the container even if this process dies during the creation.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!(
        "local-postgres-{}-{count}-{}",
        process::id(),
        now.as_millis()
    )
}
