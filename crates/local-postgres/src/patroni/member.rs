//! One server of a cluster, with the Patroni that watches it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::settings::Settings;
use super::{PATRONI, is_true, log_to};
use crate::process::account::Account;
use crate::process::cluster::last_lines;
use crate::process::supervised::Supervised;
use crate::process::{port, table};
use crate::{Wire, url};

/// A server and its Patroni, which stand for one machine.
#[derive(Debug)]
pub struct Member {
    name: String,
    folder: PathBuf,
    account: Account,
    server: u16,
    interface: u16,
    wires: Wires,
    /// `None` while the machine is down.
    patroni: Option<Supervised>,
}

/// The network of the machine.
#[derive(Debug)]
struct Wires {
    server: Wire,
    interface: Wire,
    etcd: Wire,
}

impl Wires {
    fn all(&self) -> [&Wire; 3] {
        [&self.server, &self.interface, &self.etcd]
    }
}

impl Member {
    pub(super) async fn new(
        number: usize,
        folder: PathBuf,
        binaries: PathBuf,
        account: Account,
        etcd: u16,
    ) -> Self {
        fs::create_dir(&folder).expect("the folder is new");
        account.give(&folder).expect("the folder is new");
        let [server, interface] = [(); 2].map(|()| port::free().expect("a free port"));
        let wires = Wires {
            server: Wire::start(server).await,
            interface: Wire::start(interface).await,
            etcd: Wire::start(etcd).await,
        };
        let name = format!("member{number}");
        let settings = Settings {
            name: &name,
            folder: &folder,
            binaries: &binaries,
            server,
            interface,
            server_wire: wires.server.address().port(),
            interface_wire: wires.interface.address().port(),
            etcd_wire: wires.etcd.address().port(),
        };
        fs::write(folder.join("patroni.yml"), settings.text()).expect("the folder is writable");
        Self {
            name,
            folder,
            account,
            server,
            interface,
            wires,
            patroni: None,
        }
    }

    /// The member's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The host and port at which clients reach the server.
    pub fn address(&self) -> String {
        self.wires.server.address().to_string()
    }

    /// The URL of the maintenance database, without the wire, so that it works while the network is
    /// cut.
    pub fn url(&self) -> String {
        url::tcp("127.0.0.1", self.server, None)
    }

    /// Starts the machine.
    ///
    /// # Panics
    /// If Patroni can't be run.
    pub fn start(&mut self) {
        let mut shell = self.account.command("sh");
        log_to(&mut shell, &self.log());
        let patroni = Supervised::start(shell, Path::new(PATRONI), |patroni| {
            patroni.arg(self.folder.join("patroni.yml"));
        });
        self.patroni = Some(patroni.expect("sh can run"));
    }

    /// Kills the machine's processes with SIGKILL.
    ///
    /// # Panics
    /// If they do not die.
    pub fn kill_hard(&mut self) {
        // Patroni first: it would start the server again.
        if let Some(patroni) = self.patroni.take() {
            table::kill_with_children(patroni.pid()).expect("the processes die");
        }
        if let Some(postmaster) = self.postmaster() {
            table::kill_with_children(postmaster).expect("the processes die");
        }
    }

    /// Stops all processes of the machine, like a virtual machine that is paused.
    ///
    /// # Panics
    /// If they do not stop.
    pub fn pause(&self) {
        for parent in self.parents() {
            table::pause_with_children(parent).expect("the processes stop");
        }
    }

    /// Lets the processes of the machine go on.
    ///
    /// # Panics
    /// If a process can't be signalled.
    pub fn resume(&self) {
        for parent in self.parents() {
            table::resume_with_children(parent).expect("the processes go on");
        }
    }

    /// Cuts the machine off from clients, the other machines and etcd.
    pub fn cut(&self) {
        self.wires.all().into_iter().for_each(Wire::cut);
    }

    /// Mends what [`cut`](Self::cut) cut.
    pub fn mend(&self) {
        self.wires.all().into_iter().for_each(Wire::mend);
    }

    /// Whether the server commits a write now.
    pub async fn takes_writes(&self) -> bool {
        // Writes something and thus waits for a synchronous standby. A standby refuses it.
        let write = "SELECT pg_logical_emit_message(true, 'probe', '') IS NOT NULL";
        self.patroni.is_some() && is_true(&self.url(), write).await
    }

    /// Whether both other members stream from this one, and one is synchronous.
    pub(super) async fn has_both_standbys(&self) -> bool {
        let standbys = "SELECT count(*) = 2 AND count(*) FILTER (WHERE sync_state = 'sync') = 1 \
                          FROM pg_stat_replication WHERE state = 'streaming'";
        is_true(&self.url(), standbys).await
    }

    /// Whether Patroni answers this request with success.
    pub(super) async fn says(&self, request: &str, body: &str) -> bool {
        let answer = timeout(Duration::from_secs(20), self.ask(request, body)).await;
        answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.contains(" 200 ")))
    }

    /// The first line of Patroni's answer.
    async fn ask(&self, request: &str, body: &str) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.interface)).await?;
        let request = format!(
            "{request} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        Ok(answer.lines().next().unwrap_or_default().to_owned())
    }

    /// The end of Patroni's log.
    pub(super) fn last_log(&self) -> String {
        last_lines(&fs::read_to_string(self.log()).unwrap_or_default())
    }

    fn log(&self) -> PathBuf {
        self.folder.join("patroni.log")
    }

    /// The processes whose children make up the machine.
    fn parents(&self) -> impl Iterator<Item = i32> {
        let patroni = self.patroni.as_ref().map(Supervised::pid);
        patroni.into_iter().chain(self.postmaster())
    }

    fn postmaster(&self) -> Option<i32> {
        table::postmaster_of(&self.folder.join("data"))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill_hard();
    }
}
