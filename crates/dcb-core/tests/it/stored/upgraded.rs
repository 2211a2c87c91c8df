//! Logs of the version before there were states in the database.

use super::{Tables, fill, see, wait_until_stored};
use crate::backends::on_each_backend;
use crate::support::events::{head, tagged, unless};

on_each_backend! {
    log_is_upgraded_while_a_process_uses_it
}

async fn log_is_upgraded_while_a_process_uses_it<S: Tables>() {
    let log = S::fresh_log().await;
    let running = S::connect(&log).await;
    fill(&running, 40).await;
    S::run(&log, S::DOWNGRADE).await;
    fill(&running, 1).await;
    let upgraded = S::connect(&log).await;
    assert_eq!(see(&upgraded).await.len(), 41);
    wait_until_stored(&upgraded, 1).await;
    running.append_if(tagged("b"), unless("b")).await.unwrap();
    assert_eq!(head(&upgraded).await, 42);
    for store in [running, upgraded] {
        store.close().await;
    }
    let again = S::connect(&log).await;
    assert_eq!(see(&again).await.len(), 41);
    assert_eq!(again.stats().states_loaded, 1);
    again.close().await;
}
