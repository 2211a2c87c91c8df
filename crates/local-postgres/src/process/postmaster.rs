//! One PostgreSQL server that this crate started: its launch, crash, restart and end.

use std::{
    fs::{self, File},
    io,
    path::{self, Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use std::os::unix::process::CommandExt as _;

use super::{
    account::Account,
    cluster,
    folder::{self, ServerFolder},
    place, port,
    shared_memory::SharedMemory,
    table,
    watchdog::{LAUNCH, Watchdog},
};
use crate::{Options, connection, url};

/// Time limit of a start or a shutdown. Even crash recovery of a busy server on a slow disk takes
/// far less.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// How many times a start is tried if another process holds the port.
const PORT_TRIES: usize = 5;

/// A server process and its folder. Dropping it ends the server at once and removes the folder.
#[derive(Debug)]
pub(crate) struct Postmaster {
    binaries: PathBuf,
    account: Account,
    folder: ServerFolder,
    port: u16,
    child: Mutex<Option<Child>>,
    watchdog: Watchdog,
}

enum Failure {
    PortTaken,
    Other(String),
}

impl Postmaster {
    /// Creates a data folder and starts the server in `binaries` on it. Takes about 0.6 s.
    pub(crate) async fn start(binaries: &Path, options: &Options) -> Result<Self, String> {
        let settings = options
            .server_settings()
            .map_err(|error| error.to_string())?;
        let mut server = Self::prepare(binaries, options).map_err(|error| error.to_string())?;
        cluster::create(
            &server.binaries,
            &server.folder,
            server.account,
            options.durability,
            &server.watchdog,
        )
        .await?;
        cluster::configure(&server.folder, &settings).map_err(|error| error.to_string())?;
        server.launch_on_a_free_port().await?;
        Ok(server)
    }

    /// Whether [`start_standby`](Self::start_standby) finds its program.
    pub(crate) fn has_base_backup(&self) -> bool {
        self.binaries.join("pg_basebackup").exists()
    }

    /// Copies this server's data and starts a standby on the copy. The standby streams changes from
    /// this server, which it reaches at `url`. Takes about 1 s.
    pub(crate) async fn start_standby(&self, url: &str) -> Result<Self, String> {
        let options = Options::default();
        let mut standby =
            Self::prepare(&self.binaries, &options).map_err(|error| error.to_string())?;
        cluster::copy(
            &standby.binaries,
            &standby.folder,
            standby.account,
            url,
            &standby.watchdog,
        )
        .await?;
        // The copied settings name the primary's socket folder, so write the standby's own settings
        // after them.
        cluster::configure(&standby.folder, &[]).map_err(|error| error.to_string())?;
        standby.launch_on_a_free_port().await?;
        Ok(standby)
    }

    async fn launch_on_a_free_port(&mut self) -> Result<(), String> {
        for _ in 0..PORT_TRIES {
            self.port = port::free().map_err(|error| error.to_string())?;
            match self.launch().await {
                Ok(()) => return Ok(()),
                Err(Failure::PortTaken) => {}
                Err(Failure::Other(reason)) => return Err(reason),
            }
        }
        Err(format!(
            "every one of {PORT_TRIES} free ports was taken before the server started"
        ))
    }

    /// Creates an empty folder and its watchdog, without starting a server.
    fn prepare(binaries: &Path, options: &Options) -> io::Result<Self> {
        let account = Account::for_servers()?;
        let place = place::for_data(options.durability, account)?;
        folder::sweep(&place, account);
        let (folder, watchdog) = ServerFolder::create(&place, account)?;
        // The programs run in another folder, so a relative path would not lead to them.
        let binaries = path::absolute(binaries)?;
        Ok(Self {
            binaries,
            account,
            folder,
            port: 0,
            child: Mutex::new(None),
            watchdog,
        })
    }

    pub(crate) fn url(&self) -> String {
        url::tcp("127.0.0.1", self.port, None)
    }

    pub(crate) fn socket_url(&self) -> Option<String> {
        self.folder
            .holds_socket()
            .then(|| url::socket(self.folder.path(), self.port))
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        place::is_in_memory(self.folder.path())
    }

    /// Kills the server and all its processes with SIGKILL. Blocks the thread for a few
    /// milliseconds. Does nothing if the server is down.
    pub(crate) fn kill_hard(&self) -> io::Result<()> {
        let mut child = self.child();
        let Some(postmaster) = child.as_mut() else {
            return Ok(());
        };
        let pid = pid_of(postmaster);
        // Look for the segments before the kill: a dead process has no memory map.
        let memory = SharedMemory::of(pid, &self.folder.data());
        table::kill_with_children(pid)?;
        memory.remove();
        // Until `wait` returns, the system gives the id to no other process. The watchdog must have
        // forgotten it by then.
        self.watchdog.tell("")?;
        postmaster.wait()?;
        *child = None;
        Ok(())
    }

    /// Stops all processes of the server. Does nothing if the server is down.
    pub(crate) fn pause(&self) -> io::Result<()> {
        let child = self.child();
        child
            .as_ref()
            .map_or(Ok(()), |child| table::pause_with_children(pid_of(child)))
    }

    /// Lets the processes of the server go on.
    pub(crate) fn resume(&self) -> io::Result<()> {
        let child = self.child();
        child
            .as_ref()
            .map_or(Ok(()), |child| table::resume_with_children(pid_of(child)))
    }

    /// Starts the server again on the same folder and port. A running server is shut down first.
    pub(crate) async fn restart(&self) -> Result<(), String> {
        self.shut_down().await.map_err(|error| error.to_string())?;
        for _ in 0..PORT_TRIES {
            match self.launch().await {
                Ok(()) => return Ok(()),
                // Clients know the port, so wait for it instead of choosing another one.
                Err(Failure::PortTaken) => tokio::time::sleep(PAUSE * 20).await,
                Err(Failure::Other(reason)) => return Err(reason),
            }
        }
        Err(format!("port {} was taken by another process", self.port))
    }

    /// Shuts the server down. A standby that streams gets all changes first.
    pub(crate) async fn shut_down(&self) -> io::Result<()> {
        // SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to disconnect.
        if let Some(postmaster) = self.child().as_ref() {
            table::signal(pid_of(postmaster), Signal::INT)?;
        }
        let started = Instant::now();
        while self.child().is_some() && self.exited()?.is_none() {
            if started.elapsed() > PATIENCE {
                return Err(io::Error::other("the server does not shut down"));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn launch(&self) -> Result<(), Failure> {
        self.spawn()
            .map_err(|error| Failure::Other(format!("postgres: {error}")))?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if self.exited().is_ok_and(|status| status.is_some()) {
                return Err(self.why_it_exited());
            }
            if self.answers().await {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Failure::Other(format!(
            "no answer within {} s: {}",
            PATIENCE.as_secs(),
            self.last_log()
        )))
    }

    fn spawn(&self) -> io::Result<()> {
        let log = File::create(self.folder.log())?;
        let mut shell = self.account.command("sh");
        shell
            .args(["-c", LAUNCH, "launch"])
            .arg(self.binaries.join("postgres"));
        shell
            .arg("-D")
            .arg(self.folder.data())
            .args(["-p", &self.port.to_string()]);
        shell
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log);
        // Ctrl-C in a terminal must end this process only; the watchdog then ends the server.
        let mut child = shell.process_group(0).spawn()?;
        let go = child.stdin.take();
        let pid = child.id();
        *self.child() = Some(child);
        // The watchdog gets the id before the server starts; see `LAUNCH`.
        self.watchdog.tell(&pid.to_string())?;
        go.map_or(Ok(()), |mut go| io::Write::write_all(&mut go, b"go\n"))
    }

    /// Whether the server on this port accepts connections and runs on this folder.
    async fn answers(&self) -> bool {
        let data = connection::data_directory(&self.url()).await;
        data.is_ok_and(|data| Path::new(&data) == self.folder.data())
    }

    /// The exit status, if the server has ended. Then it counts as down.
    fn exited(&self) -> io::Result<Option<ExitStatus>> {
        let mut child = self.child();
        let Some(postmaster) = child.as_mut() else {
            return Ok(None);
        };
        let status = postmaster.try_wait()?;
        if status.is_some() {
            self.watchdog.tell("")?;
            *child = None;
        }
        Ok(status)
    }

    fn why_it_exited(&self) -> Failure {
        // Search the whole log, because other lines follow the error about the port.
        if self.log().contains("Address already in use") {
            return Failure::PortTaken;
        }
        Failure::Other(format!("postgres ended: {}", self.last_log()))
    }

    fn last_log(&self) -> String {
        cluster::last_lines(&self.log())
    }

    /// The server's log since its last start.
    fn log(&self) -> String {
        let log = fs::read(self.folder.log()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        // A paused process handles no signal of the watchdog.
        let _ = self.resume();
        self.watchdog.release();
        // The watchdog ends the server, but only this process, its parent, can remove it from the
        // process table.
        if let Some(postmaster) = self.child().as_mut() {
            let _ = postmaster.wait();
        }
    }
}

fn pid_of(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(i32::MAX)
}
