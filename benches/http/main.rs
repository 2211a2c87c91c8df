//! The benches of the demo server's three interfaces. They are a separate program, because the
//! server under load is the same program, started a second time: see [`process`].

#[allow(dead_code, reason = "shared with the program of the message store")]
#[path = "../messages/message_store/backends.rs"]
mod backends;
mod events;
mod loads;
mod messages;
#[path = "../series/points/mod.rs"]
mod points;
mod process;
mod series;
#[path = "../support/mod.rs"]
mod support;
mod web_app;

use std::process::ExitCode;
use support::server::Servers;

fn main() -> ExitCode {
    if let Some(code) = process::serve_if_asked() {
        return code;
    }
    let servers = Servers::default();
    bench::targets(
        "http",
        &[
            ("http_events", &|target| events::declare(target, &servers)),
            ("http_messages", &messages::declare),
            ("http_series", &series::declare),
        ],
    )
}
