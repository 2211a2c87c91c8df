//! Forwarding to another server by remote write.

mod http;
mod load;
mod options;
mod outage;
mod real;
mod restart;
mod stub;

use std::path::Path;
use std::time::{Duration, Instant};

use demo_server::Settings;

use crate::support::Client;

/// A sender with its data in this folder.
fn sender(folder: &Path, to: &str) -> Settings {
    Settings {
        data: Some(folder.to_owned()),
        ..in_memory(to)
    }
}

fn in_memory(to: &str) -> Settings {
    Settings {
        forward_to: Some(to.to_owned()),
        ..Settings::in_memory()
    }
}

/// A metric of a server, by the text before its value.
async fn metric(client: &Client, name: &str) -> f64 {
    let text = client.get("/metrics").await.text();
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|value| value.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name}: {text}"))
}

/// Waits until a metric fulfils a condition.
async fn wait_for(client: &Client, name: &str, holds: impl Fn(f64) -> bool) {
    let begun = Instant::now();
    loop {
        let value = metric(client, name).await;
        if holds(value) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{name} is {value}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
