//! The benches of the event store: one program, so that all targets share a server and the datasets
//! that were loaded into it.

mod append;
mod append_if;
mod decide;
mod operations;
mod performance;
mod project;
mod projection_limits;
mod query;
mod slices;
mod sqlite;
mod streams;
mod subscriptions;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;
use support::server::Servers;

fn main() -> ExitCode {
    let servers = Servers::default();
    bench::targets(
        "events",
        &[
            ("append", &|target| append::declare(target, &servers)),
            ("append_if", &|target| append_if::declare(target, &servers)),
            ("decide", &|target| decide::declare(target, &servers)),
            ("query", &|target| query::declare(target, &servers)),
            ("project", &|target| project::declare(target, &servers)),
            ("streams", &|target| streams::declare(target, &servers)),
            ("projection_limits", &|target| {
                projection_limits::declare(target, &servers)
            }),
            ("subscriptions", &|target| {
                subscriptions::declare(target, &servers)?;
                slices::rows(target, &servers);
                Ok(())
            }),
            ("performance", &|target| {
                performance::declare(target, &servers)
            }),
            ("operations", &|target| {
                operations::declare(target, &servers)
            }),
            ("sqlite", &sqlite::declare),
        ],
    )
}
