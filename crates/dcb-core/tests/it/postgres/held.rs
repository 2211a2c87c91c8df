//! Held calls of a store with a single read connection, so that any two reads need the same one.

use dcb_conformance::{cases, run};
use dcb_core::postgres::PostgresStore;

use crate::support::postgres::{connect, fresh_log};

async fn store_with_one_connection() -> PostgresStore {
    let mut log = fresh_log().await;
    log.read_connections = 1;
    connect(&log).await
}

#[test]
fn held_calls_delay_no_other_with_one_connection() {
    for case in cases::<PostgresStore>() {
        if case.name.starts_with("held::") {
            println!("{}", case.name);
            run(case.name, store_with_one_connection);
        }
    }
}
