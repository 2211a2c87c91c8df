//! A receiver that is killed and started again under load: what was acknowledged arrives, each
//! value bit for bit, each series in order.

use std::time::Duration;

use super::load::{ANY, DECIMAL, Load, assert_equal};
use super::real::{Kind, Receiver};
use super::{in_memory, metric, sender, wait_for};
use crate::support::Client;
use conformance_suite::effort_up_to;

const RETRIES: &str = "registrar_forward_retries_total ";
const UNSENT: &str = "registrar_forward_unsent_bytes ";

async fn survives_outages(kind: Kind, values: &'static [f64], with_files: bool) {
    let Some(mut receiver) = Receiver::start(kind) else {
        return;
    };
    let folder = tempfile::tempdir().expect("the folder exists");
    let settings = match with_files {
        true => sender(folder.path(), &receiver.url()),
        false => in_memory(&receiver.url()),
    };
    let client = Client::with(settings).await;
    let mut load = Load::new(values);
    let rounds = effort_up_to(2, 10);
    for _ in 0..rounds {
        write_for(&mut load, &client, Duration::from_millis(600)).await;
        receiver.kill();
        let retries = metric(&client, RETRIES).await;
        write_for(&mut load, &client, Duration::from_millis(600)).await;
        wait_for(&client, RETRIES, |now| now > retries).await;
        receiver.restart();
    }
    write_for(&mut load, &client, Duration::from_millis(300)).await;
    // The server's own samples are forwarded too, every second.
    wait_for(&client, UNSENT, |bytes| bytes < 50_000.0).await;
    for lost in [
        "rejected_total ",
        r#"dropped_total{reason="size"} "#,
        r#"dropped_total{reason="age"} "#,
    ] {
        // If Prometheus is killed before it answers, it refuses the same request afterwards: its samples
        // are there, and count as out of order.
        if kind == Kind::Prometheus && lost == "rejected_total " {
            continue;
        }
        let name = format!("registrar_forward_samples_{lost}");
        assert_eq!(metric(&client, &name).await, 0.0, "{name}");
    }
    // The stop sends the rest.
    client.stop().await;
    assert!(load.acknowledged["0"].len() > 100 * rounds);
    assert_equal(&receiver.contents(), &load.acknowledged);
}

async fn write_for(load: &mut Load, client: &Client, time: Duration) {
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {
        load.write(client).await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn this_server_gets_all_samples() {
    survives_outages(Kind::DemoServer, &ANY, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn this_server_gets_all_samples_from_memory() {
    survives_outages(Kind::DemoServer, &ANY, false).await;
}

/// Its remote read, which the test compares with, shows a negative zero as zero.
#[tokio::test(flavor = "multi_thread")]
async fn prometheus_gets_all_samples() {
    survives_outages(Kind::Prometheus, &ANY[..ANY.len() - 1], true).await;
}

/// It stores decimals, so only values that they hold exactly can be compared.
#[tokio::test(flavor = "multi_thread")]
async fn victoria_metrics_gets_all_samples() {
    survives_outages(Kind::VictoriaMetrics, &DECIMAL, true).await;
}
