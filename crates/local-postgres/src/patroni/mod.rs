//! A cluster of three servers under Patroni and etcd.

mod member;
mod settings;

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::time::{sleep, timeout};

pub use member::Member;

use crate::process::account::Account;
use crate::process::supervised::Supervised;
use crate::process::{place, port};
use crate::source::installed;
use crate::{Durability, connection};

const PATRONI: &str = "/usr/bin/patroni";
const ETCD: &str = "/usr/bin/etcd";

/// Longer than any step takes. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

/// Three servers, of which one is the leader and one its synchronous standby: a commit waits until the
/// standby has it. If the leader gives no sign of life for [`Patroni::TTL`], a standby takes over.
///
/// Clients, standbys and Patroni reach a member through a [`Wire`](crate::Wire), which
/// [`Member::cut`] cuts.
///
/// The processes end when the value is dropped or this process ends.
#[derive(Debug)]
pub struct Patroni {
    members: Vec<Member>,
    _etcd: Supervised,
    _folder: TempDir,
}

impl Patroni {
    /// How long the leader may be silent.
    pub const TTL: Duration = Duration::from_secs(10);

    /// Starts a cluster, which takes about 15 s. Returns `None` if Patroni, etcd or PostgreSQL is not
    /// installed.
    ///
    /// # Panics
    /// If they are installed and the cluster does not start.
    pub async fn start() -> Option<Self> {
        let [patroni, etcd] = [PATRONI, ETCD].map(Path::new);
        let binaries = installed::find(None);
        let (true, true, Ok(binaries)) = (patroni.exists(), etcd.exists(), binaries) else {
            return None;
        };
        let account = Account::for_servers().expect("a user for servers");
        let folder = private_folder(account);
        let (etcd, etcd_port) = start_etcd(etcd, folder.path(), account);
        let mut members = Vec::new();
        for number in 0..3 {
            let place = folder.path().join(format!("member{number}"));
            let mut member = Member::new(number, place, binaries.clone(), account, etcd_port).await;
            member.start();
            members.push(member);
        }
        let cluster = Self {
            members,
            _etcd: etcd,
            _folder: folder,
        };
        cluster.wait_until_whole().await;
        Some(cluster)
    }

    /// The members, in a fixed order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// As [`members`](Self::members).
    pub fn members_mut(&mut self) -> &mut [Member] {
        &mut self.members
    }

    /// The index of the member that takes writes. Waits until there is one.
    ///
    /// # Panics
    /// If there is none for a long time.
    pub async fn leader(&self) -> usize {
        self.leader_other_than(None).await
    }

    /// The index of the member that takes writes and is not this one. Waits until there is one.
    ///
    /// # Panics
    /// If there is none for a long time.
    pub async fn leader_other_than(&self, old: impl Into<Option<usize>>) -> usize {
        let (old, begun) = (old.into(), Instant::now());
        loop {
            for (number, member) in self.members.iter().enumerate() {
                if Some(number) != old && member.takes_writes().await {
                    return number;
                }
            }
            self.give_up_after(begun, "no member takes writes");
            sleep(PAUSE).await;
        }
    }

    /// Waits until both standbys stream from the leader, and one is synchronous.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn wait_until_whole(&self) {
        let begun = Instant::now();
        let leader = self.leader().await;
        while !self.members[leader].has_both_standbys().await || !self.has_synchronous().await {
            self.give_up_after(begun, "the standbys do not stream");
            sleep(PAUSE).await;
        }
    }

    /// Whether Patroni knows a synchronous standby, which may take over.
    async fn has_synchronous(&self) -> bool {
        for member in &self.members {
            if member.says("GET /synchronous", "").await {
                return true;
            }
        }
        false
    }

    /// Makes a standby take over, as before maintenance of the leader.
    pub async fn switch_over(&self) {
        let leader = self.leader().await;
        let body = format!("{{\"leader\": \"{}\"}}", self.members[leader].name());
        let agreed = self.members[leader].says("POST /switchover", &body).await;
        assert!(agreed, "Patroni refuses the switchover");
    }

    fn give_up_after(&self, begun: Instant, why: &str) {
        if begun.elapsed() > PATIENCE {
            let logs: Vec<String> = self.members.iter().map(Member::last_log).collect();
            panic!("{why}: {logs:#?}");
        }
    }
}

/// A temporary folder of the account. The account is not the caller's if the caller is root.
fn private_folder(account: Account) -> TempDir {
    let place = place::for_data(Durability::Durable, account).expect("a temporary folder");
    let folder = tempfile::Builder::new()
        .prefix("patroni-")
        .tempdir_in(place);
    let folder = folder.expect("a temporary folder");
    account.give(folder.path()).expect("the folder is new");
    folder
}

fn start_etcd(program: &Path, folder: &Path, account: Account) -> (Supervised, u16) {
    let [clients, peers] = [(); 2].map(|()| port::free().expect("a free port"));
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let mut shell = account.command("sh");
    log_to(&mut shell, &folder.join("etcd.log"));
    let process = Supervised::start(shell, program, |etcd| {
        etcd.arg("--data-dir").arg(folder.join("etcd"));
        etcd.arg("--enable-v2");
        etcd.args(["--listen-client-urls", &url(clients)]);
        etcd.args(["--advertise-client-urls", &url(clients)]);
        etcd.args(["--listen-peer-urls", &url(peers)]);
        etcd.args(["--initial-advertise-peer-urls", &url(peers)]);
        etcd.args(["--initial-cluster", &format!("default={}", url(peers))]);
    });
    (process.expect("sh can run"), clients)
}

/// Sends the output of a program to the end of a file.
fn log_to(command: &mut Command, path: &Path) {
    let log = File::options().create(true).append(true).open(path);
    let log = log.expect("the folder is writable");
    command.stdout(log.try_clone().expect("an open file"));
    command.stderr(log);
}

/// Whether a query on the server at `url` returns true. False if it does not answer within a second.
async fn is_true(url: &str, sql: &'static str) -> bool {
    let answer = timeout(Duration::from_secs(1), connection::boolean(url, sql)).await;
    matches!(answer, Ok(Ok(true)))
}
