use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use crate::support::Client;
use crate::support::rpc::{assert_refused, call, rpc, write};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writes_with_the_same_expected_version_succeeds() {
    const RACERS: usize = 16;
    const ROUNDS: i64 = 30;
    let client = Arc::new(Client::start().await);
    for round in 0..ROUNDS {
        let racers = (0..RACERS).map(|racer| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let message = json!({ "type": "T", "data": racer });
                let options = json!({ "expectedVersion": round - 1 });
                rpc(
                    &client,
                    "",
                    json!(["stream.write", "a-1", message, options]),
                )
                .await
            })
        });
        let answers = join_all(racers).await.into_iter();
        let answers: Vec<_> = answers
            .map(|answer| answer.expect("the task does not panic"))
            .collect();
        let (won, lost): (Vec<_>, Vec<_>) = answers
            .iter()
            .partition(|answer| answer.status.is_success());
        assert_eq!(won.len(), 1, "round {round}");
        assert_eq!(won[0].ok()["position"], round);
        for answer in lost {
            assert_refused(answer, 409, "STREAM_VERSION_CONFLICT");
            let details = &answer.json()["error"]["details"];
            assert_eq!(details["actual"], round);
        }
    }
    let version = call(&client, json!(["stream.version", "a-1"])).await;
    assert_eq!(version, ROUNDS - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_get_positions_without_gaps() {
    let client = Arc::new(Client::start().await);
    let writers = (0..8).map(|writer| {
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let mut positions = Vec::new();
            for _ in 0..50 {
                let written = write(&client, "a-1", writer).await;
                positions.push(
                    written["position"]
                        .as_u64()
                        .expect("the position is a number"),
                );
            }
            positions
        })
    });
    let positions = join_all(writers).await.into_iter();
    let mut positions: Vec<_> = positions
        .flat_map(|written| written.expect("the task does not panic"))
        .collect();
    positions.sort_unstable();
    assert_eq!(positions, (0..400).collect::<Vec<_>>());
}
