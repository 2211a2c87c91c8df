//! A server and a streaming standby, without a manager.

use std::time::Duration;

use local_postgres::{Error, LocalPostgres, Options, Source, Wire};
use tokio::time::{Instant, sleep};

use super::{Cluster, Fault};
use crate::sql;

/// How long a leader that gives no answer keeps its role. More than it takes the stores to give up a
/// connection.
const SILENCE: Duration = Duration::from_secs(5);
/// How long two servers lead after a fault, until the old one is shut out.
const TWO_LEADERS: Duration = Duration::from_secs(2);

/// Whether a commit waits for the standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replication {
    Synchronous,
    Asynchronous,
}

/// How clients find the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// The URL names both servers.
    Several,
    /// Something in front of both servers leads to the leader, such as a proxy or a floating address.
    One,
}

/// A leader and a standby.
pub(crate) struct StandbyCluster {
    leader: LocalPostgres,
    standby: LocalPostgres,
    address: Address,
    front: Wire,
    /// The leader's network, for clients and for the standby.
    clients: Wire,
    replication: Wire,
    fault: Option<Fault>,
}

impl StandbyCluster {
    /// Starts a cluster. `None` without `pg_basebackup`.
    pub(crate) async fn start(replication: Replication, address: Address) -> Option<Self> {
        let leader = start_server().await;
        let wire = Wire::start(port_of(leader.url())).await;
        let through = format!("postgres://postgres@{}/postgres", wire.address());
        let standby = leader.start_standby_through(&through).await;
        let standby = unmet::need("pg_basebackup", standby.expect("a standby"))?;
        if replication == Replication::Synchronous {
            replicate_synchronously(leader.url()).await;
        }
        let clients = Wire::start(port_of(leader.url())).await;
        Some(Self {
            front: Wire::start(clients.address().port()).await,
            address,
            clients,
            leader,
            standby,
            replication: wire,
            fault: None,
        })
    }

    /// The URL of the standby, without the wire.
    pub(crate) fn standby_url(&self) -> &str {
        self.standby.url()
    }

    /// The URL of the leader, without the wire.
    pub(crate) fn leader_url(&self) -> &str {
        self.leader.url()
    }

    /// The network between the leader and the standby.
    pub(crate) fn replication(&self) -> &Wire {
        &self.replication
    }

    /// The network between the clients and [`Address::One`].
    pub(crate) fn front(&self) -> &Wire {
        &self.front
    }

    /// Waits until the standby has everything that is committed now.
    pub(crate) async fn wait_for_standby(&self) {
        let caught_up =
            "SELECT pg_current_wal_flush_lsn() <= min(replay_lsn) FROM pg_stat_replication";
        sql::wait_until(self.leader_url(), caught_up).await;
    }

    /// From now on the standby receives what is committed, and does not show it.
    pub(crate) async fn stop_replay(&self) {
        let stop = sql::run(self.standby_url(), "SELECT pg_wal_replay_pause()").await;
        stop.expect("the standby answers");
        let stopped = "SELECT pg_get_wal_replay_pause_state() = 'paused'";
        sql::wait_until(self.standby_url(), stopped).await;
    }

    /// Kills the leader, and leads [`Address::One`] to the standby.
    pub(crate) fn lead_to_standby(&self) {
        self.leader.kill_hard().expect("the server is ours");
        self.front.lead_to(port_of(self.standby_url()));
    }

    /// Makes the standby the leader, and waits until it takes writes.
    pub(crate) async fn promote(&self) -> Instant {
        let promoted = sql::run(self.standby_url(), "SELECT pg_promote(false)").await;
        promoted.expect("the standby answers");
        self.front.lead_to(port_of(self.standby_url()));
        sql::wait_until_it_takes_writes(self.standby_url()).await;
        Instant::now()
    }

    async fn silence_leader(&self, fault: Fault) {
        match fault {
            Fault::Killed => self.leader.kill_hard().expect("the server is ours"),
            Fault::SwitchedOver => {
                let ended = self.leader.shut_down().await;
                ended.expect("the server is ours");
            }
            Fault::Paused => {
                self.leader.pause().expect("the server is ours");
                sleep(SILENCE).await;
            }
            Fault::CutOff => {
                self.clients.cut();
                self.replication.cut();
                sleep(SILENCE).await;
            }
        }
    }
}

impl Cluster for StandbyCluster {
    fn url(&self) -> String {
        let hosts = match self.address {
            Address::One => self.front.address().to_string(),
            Address::Several => {
                let standby = port_of(self.standby_url());
                format!("{},127.0.0.1:{standby}", self.clients.address())
            }
        };
        format!("postgres://postgres@{hosts}/postgres")
    }

    async fn fail(&mut self, fault: Fault) -> Instant {
        self.fault = Some(fault);
        self.silence_leader(fault).await;
        self.promote().await
    }

    async fn recover(&mut self) {
        match self.fault.take() {
            Some(Fault::Paused) => self.leader.resume().expect("the server is ours"),
            Some(Fault::CutOff) => {
                self.clients.mend();
                self.replication.mend();
            }
            Some(Fault::Killed | Fault::SwitchedOver) | None => return,
        }
        sleep(TWO_LEADERS).await;
        self.leader.kill_hard().expect("the server is ours");
    }
}

/// A server that doesn't sync to disk. Its commits are synchronous, because no commit waits for a
/// standby otherwise.
async fn start_server() -> LocalPostgres {
    let options = |source| Options {
        source: Some(source),
        settings: vec![("fsync".to_owned(), "off".to_owned())],
        ..Options::default()
    };
    let started: Result<_, Error> = LocalPostgres::start(options(Source::Installed)).await;
    match started {
        Ok(server) => server,
        Err(_) => LocalPostgres::start(options(Source::Download))
            .await
            .expect("a PostgreSQL server starts"),
    }
}

/// Makes commits wait for the standby. The setting is not in the copy that the standby runs on, so that
/// the standby waits for none once it leads.
async fn replicate_synchronously(leader: &str) {
    for statement in [
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
        "SELECT pg_reload_conf()",
    ] {
        let done = sql::run(leader, statement).await;
        done.expect("the server answers");
    }
    let synchronous = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    sql::wait_until(leader, synchronous).await;
}

fn port_of(url: &str) -> u16 {
    let (_, rest) = url.rsplit_once(':').expect("the URL has a port");
    let (port, _) = rest.split_once('/').expect("the URL has a database");
    port.parse().expect("the port is a number")
}
