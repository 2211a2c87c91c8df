//! Clusters whose leader fails.

mod managed;
mod standby;

use tokio::time::Instant;

pub(crate) use managed::ManagedCluster;
pub(crate) use standby::{Address, Replication, StandbyCluster};

/// A fault of the leader of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its processes are killed.
    Killed,
    /// It shuts down after a standby has everything.
    SwitchedOver,
    /// Its processes are stopped, and go on when another member leads.
    Paused,
    /// Its network carries nothing, and is mended when another member leads.
    CutOff,
}

/// A cluster with a leader, and members that can take over.
pub(crate) trait Cluster {
    /// The URL at which the stores find the leader.
    fn url(&self) -> String;

    /// Lets the leader fail, and returns the time at which another member takes writes.
    async fn fail(&mut self, fault: Fault) -> Instant;

    /// Ends the fault. For a moment the cluster may have two leaders.
    async fn recover(&mut self);
}
