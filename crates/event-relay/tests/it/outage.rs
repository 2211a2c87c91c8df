//! Servers that are killed while a relay runs.

use local_postgres::{LocalPostgres, Options, Source};

use crate::support::{append, check, drawn, open, relayed, runner, wait_until};

/// A server that the test may kill.
async fn server() -> LocalPostgres {
    let start = |source| {
        LocalPostgres::start(Options {
            source: Some(source),
            ..Options::default()
        })
    };
    match start(Source::Installed).await {
        Ok(server) => server,
        Err(_) => start(Source::Download).await.expect("a PostgreSQL"),
    }
}

/// Both stores are on the server, which is killed under load.
#[tokio::test(flavor = "multi_thread")]
async fn relay_waits_for_a_server_that_was_killed() {
    let server = server().await;
    let (events, messages) = open(server.url(), server.url()).await;
    let mut relay = runner(&events, &messages);
    let progress = relay.progress();
    let running = tokio::spawn(async move { relay.run().await });
    for round in 1..=3 {
        append(&events, (0..150).map(|number| drawn(number % 3)).collect()).await;
        let before = (round - 1) * 150;
        wait_until("the relay is at work", async || {
            relayed(&messages).await.len() > before
        })
        .await;
        server.kill_hard().expect("the server can be killed");
        wait_until("the outage is told", async || progress.outage().is_some()).await;
        server.restart().await.expect("the server starts");
        wait_until("the rest is relayed", async || {
            relayed(&messages).await.len() == before + 150
        })
        .await;
    }
    assert!(!running.is_finished());
    running.abort();
    check(&events, &messages).await;
    wait_until("the outage is over", async || progress.outage().is_none()).await;
}
