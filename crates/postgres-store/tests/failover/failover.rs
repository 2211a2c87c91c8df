//! A server with a synchronous standby: no fault of the leader loses or doubles anything.

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::cluster::{Address, Cluster, Fault, Replication, StandbyCluster};
use crate::load::Load;

/// Runs the load while the leader fails in these ways, one after the other, and checks everything at
/// the end.
pub(crate) async fn survive(cluster: &mut impl Cluster, faults: &[Fault]) {
    let load = Load::start(&cluster.url()).await;
    for fault in faults {
        load.wait_for_writes(100).await;
        let begun = Instant::now();
        let takes_writes = cluster.fail(*fault).await;
        let [events, messages] = load.resumed_after(takes_writes).await;
        println!(
            "leader {fault:?}: the next one takes writes after {:.1} s; an append succeeds {} ms later, \
             a message {} ms",
            (takes_writes - begun).as_secs_f64(),
            events.as_millis(),
            messages.as_millis(),
        );
        load.wait_for_writes(50).await;
        cluster.recover().await;
    }
    load.wait_for_writes(100).await;
    load.finish(None).await;
}

async fn standby_survives(fault: Fault, address: Address) {
    // Few at a time, because each runs two servers and many callers.
    static FEW: Semaphore = Semaphore::const_new(2);
    let _permit = FEW.acquire().await.expect("it is never closed");
    if let Some(mut cluster) = StandbyCluster::start(Replication::Synchronous, address).await {
        survive(&mut cluster, &[fault]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_leader_loses_nothing() {
    standby_survives(Fault::Killed, Address::Several).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_leader_behind_one_address_loses_nothing() {
    standby_survives(Fault::Killed, Address::One).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn switchover_loses_nothing() {
    standby_survives(Fault::SwitchedOver, Address::Several).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_leader_that_wakes_loses_nothing() {
    standby_survives(Fault::Paused, Address::Several).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_without_network_loses_nothing() {
    standby_survives(Fault::CutOff, Address::Several).await;
}
