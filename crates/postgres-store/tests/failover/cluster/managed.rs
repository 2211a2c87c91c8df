//! Three servers under Patroni.

use local_postgres::Patroni;
use tokio::time::{Instant, sleep};

use super::{Cluster, Fault};

/// A cluster under Patroni, and what happened to which member.
pub(crate) struct ManagedCluster {
    patroni: Patroni,
    fault: Option<(usize, Fault)>,
}

impl ManagedCluster {
    /// Starts a cluster. `None` if Patroni or etcd is not installed.
    pub(crate) async fn start() -> Option<Self> {
        let patroni = unmet::need("patroni", Patroni::start().await)?;
        Some(Self {
            patroni,
            fault: None,
        })
    }
}

impl Cluster for ManagedCluster {
    fn url(&self) -> String {
        let hosts: Vec<String> = self
            .patroni
            .members()
            .iter()
            .map(|one| one.address())
            .collect();
        let hosts = hosts.join(",");
        format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write")
    }

    async fn fail(&mut self, fault: Fault) -> Instant {
        let leader = self.patroni.leader().await;
        self.fault = Some((leader, fault));
        let member = &mut self.patroni.members_mut()[leader];
        match fault {
            Fault::Killed => member.kill_hard(),
            Fault::Paused => member.pause(),
            Fault::CutOff => member.cut(),
            Fault::SwitchedOver => self.patroni.switch_over().await,
        }
        self.patroni.leader_other_than(leader).await;
        Instant::now()
    }

    async fn recover(&mut self) {
        let Some((old, fault)) = self.fault.take() else {
            return;
        };
        let member = &mut self.patroni.members_mut()[old];
        match fault {
            Fault::Killed => member.start(),
            Fault::Paused => {
                // Some time, so that the member believes that it leads when it goes on.
                sleep(Patroni::TTL / 5).await;
                member.resume();
            }
            Fault::CutOff => member.mend(),
            Fault::SwitchedOver => {}
        }
        self.patroni.wait_until_whole().await;
    }
}
