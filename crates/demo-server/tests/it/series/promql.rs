//! `query` and `query_range`.

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Answer, Client};

/// `up{host="a"}` and `up{host="b"}`, a sample a minute for an hour from 1,700,000,000 s.
async fn filled() -> Client {
    let client = Client::start().await;
    let mut points = Vec::new();
    for minute in 0..60 {
        for host in ["a", "b"] {
            points.push(json!({
                "metric": "up", "tags": {"host": host},
                "timestamp": (1_700_000_000 + minute * 60) * 1000_i64, "value": minute,
            }));
        }
    }
    client.post("/series/write", &json!(points)).await.ok();
    client
}

async fn form(client: &Client, path: &str, form: &'static str) -> Answer {
    let request = client.request(Method::POST, path);
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    client.send(request, form).await
}

fn result(answer: &Answer) -> Value {
    let answer = answer.ok();
    assert_eq!(answer["status"], "success");
    answer["data"]["result"].clone()
}

#[tokio::test]
async fn time_is_unix_seconds_or_rfc_3339() {
    let client = filled().await;
    for (time, shown) in [
        ("1700000060", json!(1_700_000_060)),
        ("1700000060.5", json!(1_700_000_060.5)),
        ("2023-11-14T22:14:20Z", json!(1_700_000_060)),
        ("2023-11-14T23:14:20%2B01:00", json!(1_700_000_060)),
    ] {
        let path = format!("/api/v1/query?query=up%7Bhost=%22a%22%7D&time={time}");
        assert_eq!(
            result(&client.get(&path).await),
            json!([{"metric": {"__name__": "up", "host": "a"}, "value": [shown, "1"]}]),
            "{time}"
        );
    }
    let now = client.get("/api/v1/query?query=time()").await.ok();
    assert_eq!(now["data"]["resultType"], "scalar");
    assert!(now["data"]["result"][0].as_f64() > Some(1.7e9));
    client.stop().await;
}

/// Clients of Prometheus send the first and the last time that it knows.
#[tokio::test]
async fn boundary_times_and_11_001_points_are_taken() {
    const TIMES: &str = "start=-292273086-05-16T16:47:06Z&end=292277025-08-18T07:12:54.999999999Z";
    let client = filled().await;
    for list in ["series?match[]=up&", "labels?", "label/host/values?"] {
        let answer = client.get(&format!("/api/v1/{list}{TIMES}")).await;
        assert_eq!(
            answer.ok()["data"].as_array().map(Vec::len),
            Some(2),
            "{list}"
        );
    }
    for (end, status) in [
        (1_700_011_000, StatusCode::OK),
        (1_700_011_001, StatusCode::BAD_REQUEST),
    ] {
        let path = format!("/api/v1/query_range?query=1&start=1700000000&end={end}&step=1");
        assert_eq!(client.get(&path).await.status, status, "{end}");
    }
    client.stop().await;
}

#[tokio::test]
async fn form_and_url_parameters_are_equivalent() {
    let client = filled().await;
    let by_url = client
        .get("/api/v1/query_range?query=sum(up)&start=1700000000&end=1700000120&step=1m")
        .await;
    let by_form = form(
        &client,
        "/api/v1/query_range",
        "query=sum(up)&start=2023-11-14T22%3A13%3A20Z&end=1700000120.000&step=60",
    )
    .await;
    let expected = json!([{"metric": {}, "values": [
        [1_700_000_000, "0"], [1_700_000_060, "2"], [1_700_000_120, "4"],
    ]}]);
    assert_eq!(result(&by_url), expected);
    assert_eq!(result(&by_form), expected);
    let half = form(&client, "/api/v1/query?time=1700000060", "query=sum(up)").await;
    assert_eq!(
        result(&half),
        json!([{"metric": {}, "value": [1_700_000_060, "2"]}])
    );
    client.stop().await;
}

#[tokio::test]
async fn limit_truncates_series_with_a_warning() {
    let client = filled().await;
    let path = "/api/v1/query?query=up&time=1700000000&limit=";
    let cut = client.get(&format!("{path}1")).await.ok();
    assert_eq!(cut["data"]["result"].as_array().map(Vec::len), Some(1));
    assert_eq!(cut["warnings"], json!(["results truncated due to limit"]));
    for limit in ["0", "2"] {
        let whole = client.get(&format!("{path}{limit}")).await.ok();
        assert_eq!(whole["data"]["result"].as_array().map(Vec::len), Some(2));
        assert!(whole.get("warnings").is_none());
    }
    client.stop().await;
}

/// The parameter was ignored.
#[tokio::test]
async fn lookback_delta_says_how_far_a_selector_looks_back() {
    let client = filled().await;
    // The last sample is at 1,700,003,540.
    for (parameters, found) in [
        ("query?query=up&time=1700003830", 2),
        ("query?query=up&time=1700003850", 0),
        ("query?query=up&time=1700003850&lookback_delta=10m", 2),
        ("query?query=up&time=1700003850&lookback_delta=60", 0),
        (
            "query_range?query=up&start=1700003850&end=1700003900&step=10&lookback_delta=1h",
            2,
        ),
    ] {
        let answer = client.get(&format!("/api/v1/{parameters}")).await;
        assert_eq!(
            result(&answer).as_array().map(Vec::len),
            Some(found),
            "{parameters}"
        );
        assert!(answer.json().get("warnings").is_none());
    }
    client.stop().await;
}

/// The parameter was ignored.
#[tokio::test]
async fn stats_are_added_where_the_client_asks_for_them() {
    let client = filled().await;
    let range = "query_range?query=up&start=1700000000&end=1700000600&step=60";
    for (path, read) in [("query?query=up%5B10m%5D&time=1700000600", 20), (range, 22)] {
        let plain = client.get(&format!("/api/v1/{path}")).await.ok();
        assert!(plain["data"].get("stats").is_none());
        let counted = client
            .get(&format!("/api/v1/{path}&stats=all&limit=1&x=1"))
            .await
            .ok();
        let stats = &counted["data"]["stats"];
        assert_eq!(stats["samples"]["totalQueryableSamples"], read, "{stats}");
        assert!(
            stats["samples"]["peakSamples"].as_u64() >= Some(read),
            "{stats}"
        );
        for time in ["evalTotalTime", "execQueueTime", "execTotalTime"] {
            assert!(stats["timings"][time].as_f64() >= Some(0.0), "{stats}");
        }
        assert_eq!(counted["data"]["result"].as_array().map(Vec::len), Some(1));
        assert_eq!(counted["warnings"].as_array().map(Vec::len), Some(2));
    }
    client.stop().await;
}

#[tokio::test]
async fn invalid_parameters_are_bad_data_and_named() {
    let client = filled().await;
    let range = |rest: &str| format!("/api/v1/query_range?query=up&{rest}");
    for (path, name) in [
        ("/api/v1/query".to_owned(), "query"),
        ("/api/v1/query?query=".to_owned(), "query"),
        ("/api/v1/query?query=up&time=noon".to_owned(), "time"),
        ("/api/v1/query?query=up&time=NaN".to_owned(), "time"),
        ("/api/v1/query?query=up&time=1e300".to_owned(), "time"),
        ("/api/v1/query?query=up&timeout=soon".to_owned(), "timeout"),
        ("/api/v1/query?query=up&timeout=0".to_owned(), "timeout"),
        ("/api/v1/query?query=up&limit=-1".to_owned(), "limit"),
        (
            "/api/v1/query?query=up&lookback_delta=0".to_owned(),
            "lookback_delta",
        ),
        (
            "/api/v1/query?query=up&lookback_delta=far".to_owned(),
            "lookback_delta",
        ),
        (range("end=1&step=1"), "start"),
        (range("start=1&step=1"), "end"),
        (range("start=1&end=2"), "step"),
        (range("start=1&end=2&step=often"), "step"),
        (range("start=1&end=2&step=0"), "step"),
        (range("start=1&end=2&step=-5"), "step"),
        (range("start=2&end=1&step=1"), "end"),
        (range("start=0&end=11001&step=1"), "steps"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        let answer = answer.json();
        assert_eq!(answer["status"], "error");
        assert_eq!(answer["errorType"], "bad_data");
        let message = answer["error"].as_str().expect("the message is a string");
        assert!(message.contains(name), "{path}: {message}");
    }
    assert_eq!(
        client.get(&range("start=0&end=10999&step=1")).await.status,
        StatusCode::OK
    );
    client.stop().await;
}

#[tokio::test]
async fn parse_errors_are_400_and_evaluation_errors_422() {
    let client = filled().await;
    for query in ["up%7B", "sum(", "rate(up)", "nope(up)", "%7B%7D"] {
        let answer = client.get(&format!("/api/v1/query?query={query}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(answer.json()["errorType"], "bad_data");
    }
    let clash = "/api/v1/query?time=1700000000&query=up%20%2B%20on()%20up";
    let answer = client.get(clash).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.json()["errorType"], "execution");
    client.stop().await;
}

/// A subquery with 864,000 steps and a time limit of 1 ms.
#[tokio::test]
async fn slow_query_is_a_timeout() {
    let client = filled().await;
    let costly = "query=sum_over_time((up%2Bup)[10d:1s])&time=1700003600&timeout=1ms";
    let answer = form(&client, "/api/v1/query", costly).await;
    assert_eq!(
        answer.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        answer.text()
    );
    assert_eq!(answer.json()["errorType"], "timeout");
    assert_eq!(answer.headers[header::RETRY_AFTER], "1");
    client.stop().await;
}

/// Reads more than ten million samples.
#[tokio::test]
async fn query_above_the_sample_limit_is_rejected() {
    let client = filled().await;
    let costly = "query=sum_over_time((up%2Bup)[365d:1s])&time=1700003600";
    let answer = form(&client, "/api/v1/query", costly).await;
    assert_eq!(
        answer.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        answer.text()
    );
    assert_eq!(answer.json()["errorType"], "execution");
    client.stop().await;
}
