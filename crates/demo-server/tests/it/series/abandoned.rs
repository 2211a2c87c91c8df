//! Queries whose clients have left.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use crate::support::Client;

/// So many clients as queries may run at once.
const CLIENTS: usize = 4;
/// Takes longer than a query may take.
const ENDLESS: &str =
    "/api/v1/query_range?query=mad_over_time(m%5B3h%5D)&start=1700000000&end=1700010000&step=1";
/// Takes a place of a long query.
const LONG: &str = "/api/v1/query_range?query=m&start=1700000000&end=1700010000&step=1";

/// Four panels of a dashboard were opened and left at once. They ran on, so that for ten seconds
/// nothing else got an answer.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_queries_end_and_short_ones_never_wait() {
    let client = Client::start().await;
    for series in 0..40 {
        let samples = (0..700).map(|sample| {
            json!({
                "metric": "m", "tags": {"series": series.to_string()},
                "timestamp": (1_700_000_000 + sample * 15) * 1000_i64, "value": sample * 7 % 101,
            })
        });
        let points: Vec<_> = samples.collect();
        client.post("/series/write", &json!(points)).await.ok();
    }
    for _ in 0..CLIENTS {
        let left = tokio::time::timeout(Duration::from_millis(500), client.get(ENDLESS)).await;
        assert!(left.is_err(), "the query was too quick for this test");
    }
    for short in [
        "/api/v1/query?query=1",
        "/api/v1/labels",
        "/federate?match[]=m",
        LONG,
    ] {
        let answer = client.get(short).await;
        assert_eq!(answer.status, StatusCode::OK, "{short}: {}", answer.text());
    }
    client.stop().await;
}
