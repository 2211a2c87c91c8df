//! The server's own metrics.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::StatusCode;
use demo_server::Settings;
use serde_json::{Value, json};
use store_meter::testing::documented;

use crate::support::Client;

/// The value of a series in the text of `/metrics`.
pub(crate) fn value(text: &str, series: &str) -> Option<f64> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test]
async fn requests_are_counted_by_route_and_status_class() {
    let client = Client::start().await;
    client.get("/api/v1/label/one/values").await.ok();
    client.get("/api/v1/label/two/values").await.ok();
    client.get("/api/v1/query").await;
    client.get("/nowhere").await;
    let answer = client.get("/metrics").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        answer.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = answer.text();
    for (labels, count) in [
        (
            r#"interface="series",route="/api/v1/label/{name}/values",status="2xx""#,
            2.0,
        ),
        (
            r#"interface="series",route="/api/v1/query",status="4xx""#,
            1.0,
        ),
        (r#"interface="server",route="other",status="4xx""#, 1.0),
    ] {
        let series = format!("registrar_http_requests_total{{{labels}}}");
        assert_eq!(value(&text, &series), Some(count), "{series}\n{text}");
    }
    client.stop().await;
}

#[tokio::test]
async fn durations_form_a_cumulative_histogram() {
    let client = Client::start().await;
    for _ in 0..7 {
        client.get("/health").await.ok();
    }
    let text = client.get("/metrics").await.text();
    const NAME: &str = "registrar_http_request_duration_seconds";
    let buckets = text.lines().filter(|line| {
        line.starts_with(&format!("{NAME}_bucket")) && line.contains(r#"route="/health""#)
    });
    let buckets: Vec<(f64, f64)> = buckets
        .map(|line| {
            let (labels, count) = line.rsplit_once(' ').expect("the count is present");
            let bound = labels
                .split("le=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            let bound = bound.expect("the bound is present").replace("+Inf", "inf");
            (
                bound.parse().expect("it is a number"),
                count.parse().expect("it is a number"),
            )
        })
        .collect();
    assert!(buckets.len() > 20, "{text}");
    // In the order of the bounds, not of their text, in which 10 comes before 2.
    let rises = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
    assert!(buckets.windows(2).all(rises), "{buckets:?}");
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, 7.0)));
    let labels = r#"{interface="server",route="/health"}"#;
    assert_eq!(value(&text, &format!("{NAME}_count{labels}")), Some(7.0));
    assert!(value(&text, &format!("{NAME}_sum{labels}")) > Some(0.0));
    client.stop().await;
}

#[tokio::test]
async fn every_metric_is_described_and_has_values() {
    let client = Client::start().await;
    client.get("/health").await.ok();
    let text = client.get("/metrics").await.text();
    let described: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let measured: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(|name| {
            let mut family = ["_bucket", "_count", "_sum"].into_iter();
            let family = family.find_map(|suffix| name.strip_suffix(suffix));
            family
                .filter(|family| described.contains(family))
                .unwrap_or(name)
        })
        .collect();
    assert_eq!(described, measured);
    let of_server = described
        .iter()
        .filter(|name| name.starts_with("registrar_") || name.starts_with("process_"));
    assert_eq!(of_server.count(), 21);
    client.stop().await;
}

/// The names and types of the tables in the stores' READMEs, each with the values of its store.
#[tokio::test]
async fn the_stores_are_measured_under_their_own_names() {
    let client = Client::start().await;
    let event = json!({"type": "CourseOffered", "tags": ["course:1"], "data": "{}"});
    client
        .post("/dcb/append", &json!({"events": [event]}))
        .await
        .ok();
    client.post_bytes("/write", "cpu usage=1,idle=2 1").await;
    let text = client.get("/metrics").await.text();
    for (readme, prefix) in [
        (include_str!("../../../dcb-core/README.md"), "dcb"),
        (
            include_str!("../../../message-store/README.md"),
            "message_store",
        ),
        (include_str!("../../../tsdb/README.md"), "tsdb"),
    ] {
        let mut table = documented(readme, prefix);
        assert!(table.len() >= 10, "{table:?}");
        // The server runs no member of a projection.
        table.retain(|(name, ..)| !name.starts_with("dcb_projection"));
        for (name, kind, _) in table {
            let line = format!("\n# TYPE {name} {kind}\n");
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
    let log = r#"backend="sqlite",log="memory""#;
    let committed = format!(r#"dcb_appends_total{{{log},outcome="committed"}}"#);
    let commits = format!("dcb_commit_seconds_count{{{log}}}");
    for (series, wanted) in [(committed, 1.0), (commits, 1.0)] {
        assert_eq!(value(&text, &series), Some(wanted), "{series}\n{text}");
    }
    assert!(value(&text, "tsdb_samples_written_total") >= Some(2.0));
    client.stop().await;
}

#[tokio::test]
async fn rejected_bodies_are_counted() {
    let client = Client::with(Settings {
        max_body_bytes: 100,
        ..Settings::in_memory()
    })
    .await;
    client.post_bytes("/series/write", vec![b' '; 101]).await;
    let text = client.get("/metrics").await.text();
    assert_eq!(
        value(&text, "registrar_http_bodies_refused_total"),
        Some(1.0)
    );
    client.stop().await;
}

#[tokio::test]
async fn metrics_tell_the_process_the_version_and_the_stores() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let settings = Settings {
        data: Some(folder.path().to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let text = client.get("/metrics").await.text();
    let version = format!(
        r#"registrar_build_info{{version="{}"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(value(&text, &version), Some(1.0), "{text}");
    for metric in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
        "process_max_fds",
    ] {
        assert!(
            value(&text, &format!("{metric} ")) > Some(0.0),
            "{metric}: {text}"
        );
    }
    let started = value(&text, "process_start_time_seconds ");
    assert!(started > Some(1e9), "{text}");
    for store in ["events", "messages", "series"] {
        for metric in ["registrar_store_answers", "registrar_store_takes_writes"] {
            let series = format!(r#"{metric}{{store="{store}"}}"#);
            assert_eq!(value(&text, &series), Some(1.0), "{text}");
        }
        let wal = format!(r#"registrar_store_file_bytes{{kind="wal",store="{store}"}}"#);
        assert!(value(&text, &wal).is_some(), "{text}");
    }
    let data = r#"registrar_store_file_bytes{kind="data",store="events"}"#;
    assert!(value(&text, data) >= Some(4096.0), "{text}");
    client.stop().await;
}

#[tokio::test]
async fn points_and_queries_are_counted() {
    let client = Client::start().await;
    client.post_bytes("/write", "cpu usage=1,idle=2 1").await;
    client.get("/api/v1/query?query=cpu_usage").await.ok();
    let text = client.get("/metrics").await.text();
    assert_eq!(value(&text, "registrar_points_written_total"), Some(2.0));
    assert_eq!(value(&text, "registrar_series_queries_total"), Some(1.0));
    assert!(value(&text, "tsdb_series ") >= Some(2.0));
    client.stop().await;
}

/// Repeats a query for up to 10 seconds, until it has a result.
async fn eventually(client: &Client, query: &str) -> Value {
    for _ in 0..100 {
        let answer = client
            .get(&format!("/api/v1/query?query={query}"))
            .await
            .ok();
        let result = &answer["data"]["result"];
        if result.as_array().is_some_and(|found| !found.is_empty()) {
            return result.clone();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{query} has no result after 10 seconds");
}

#[tokio::test]
async fn server_metrics_are_stored_as_series() {
    let client = Client::start().await;
    // These queries are counted requests themselves.
    for query in [
        "registrar_http_request_rate%7Binterface=%22series%22%7D%20%3E%200",
        "registrar_http_latency_p50_seconds%7Binterface=%22series%22%7D%20%3E%200",
        "registrar_http_latency_p99_seconds%7Binterface=%22series%22%7D%20%3E%200",
        "registrar_http_requests_total%7Broute=%22/api/v1/query%22,status=%222xx%22%7D%20%3E%200",
        "registrar_events_rate",
        "registrar_messages_rate",
        "registrar_points_rate",
        "dcb_events_appended_total",
        "message_store_commit_seconds_bucket",
        "tsdb_series",
    ] {
        let found = eventually(&client, query).await;
        if !query.contains("%3E") {
            assert_eq!(found[0]["metric"]["job"], "registrar", "{query}");
        }
    }
    let quantile = "histogram_quantile(0.9,sum%20by%20(le)(rate(\
                    registrar_http_request_duration_seconds_bucket%7Binterface=%22series%22%7D[1m])))%20%3E%200";
    let found = eventually(&client, quantile).await;
    let seconds = found[0]["value"][1]
        .as_str()
        .expect("the value is a string");
    assert!(
        seconds.parse::<f64>().is_ok_and(|seconds| seconds < 60.0),
        "{seconds}"
    );
    let metadata = client
        .get("/api/v1/metadata?metric=registrar_http_requests_total")
        .await
        .ok();
    assert_eq!(
        metadata["data"]["registrar_http_requests_total"][0]["type"],
        "counter"
    );
    client.stop().await;
}

#[tokio::test]
async fn rates_follow_writes() {
    let client = Client::start().await;
    eventually(&client, "registrar_points_rate").await;
    client
        .post(
            "/series/write",
            &json!([{"metric": "cpu", "timestamp": 1, "value": 1}]),
        )
        .await
        .ok();
    let found = eventually(
        &client,
        "max_over_time(registrar_points_rate[1m])%20%3E%200",
    )
    .await;
    let rate = found[0]["value"][1]
        .as_str()
        .expect("the value is a string");
    let rate: f64 = rate.parse().expect("it is a number");
    assert!(rate > 0.0 && rate.is_finite(), "{rate}");
    client.stop().await;
}

/// Prometheus' own check of names, types and help texts.
#[tokio::test(flavor = "multi_thread")]
async fn promtool_accepts_the_metrics() {
    let client = Client::with(Settings {
        // The metrics of forwarding too.
        forward_to: Some("http://127.0.0.1:1/".to_owned()),
        ..Settings::in_memory()
    })
    .await;
    client.get("/health").await.ok();
    let text = client.get("/metrics").await.text();
    client.stop().await;
    let file = tempfile::NamedTempFile::new().expect("the file is made");
    std::fs::write(file.path(), text).expect("it is written");
    let input = file.reopen().expect("it exists");
    let check = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(input)
        .output();
    let Some(checked) = unmet::need("promtool", check.ok()) else {
        return;
    };
    let text = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{text}");
    assert!(text.trim().is_empty(), "{text}");
}
