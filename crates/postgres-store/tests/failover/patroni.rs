//! Three servers under Patroni.

use crate::cluster::{Fault, ManagedCluster};
use crate::failover::survive;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes over a minute and needs Patroni and etcd; .ci/failover installs them and runs it"]
async fn patroni_loses_nothing() {
    if let Some(mut cluster) = ManagedCluster::start().await {
        let faults = [
            Fault::SwitchedOver,
            Fault::Killed,
            Fault::Paused,
            Fault::CutOff,
        ];
        survive(&mut cluster, &faults).await;
    }
}
