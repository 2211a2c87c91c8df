//! `/federate`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::{Method, StatusCode, header};
use serde_json::json;

use crate::support::Client;
use crate::support::program::{Program, command};
use crate::support::prometheus::Prometheus;

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is after 1970").as_millis() as i64
}

#[tokio::test]
async fn last_samples_are_prometheus_text() {
    let client = Client::start().await;
    let now_ms = now_ms();
    let points = json!([
        {"metric": "up", "tags": {"job": "a"}, "timestamp": now_ms - 2000, "value": 0},
        {"metric": "up", "tags": {"job": "a"}, "timestamp": now_ms - 1000, "value": 1},
        {"metric": "up", "tags": {"job": "old"}, "timestamp": now_ms - 600_000, "value": 1},
        {"metric": "load", "timestamp": now_ms - 1000, "value": 2.5},
        {"metric": "other", "timestamp": now_ms - 1000, "value": 3},
    ]);
    client.post("/series/write", &points).await.ok();
    let answer = client
        .get("/federate?match%5B%5D=up&match%5B%5D=load&match%5B%5D=up")
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let kind = &answer.headers[header::CONTENT_TYPE];
    assert!(kind.as_bytes().starts_with(b"text/plain; version=0.0.4"));
    let time = now_ms - 1000;
    let text = format!("load 2.5 {time}\nup{{job=\"a\"}} 1 {time}\n");
    assert_eq!(answer.text(), text);
    let accepted = |accept: &'static str| {
        let request = client.request(Method::GET, "/federate?match%5B%5D=%7B%22a.b%22%7D");
        client.send(request.header(header::ACCEPT, accept), "")
    };
    let point = json!([{"metric": "a.b", "tags": {"c.d": "e"}, "timestamp": time, "value": 1}]);
    client.post("/series/write", &point).await.ok();
    for (accept, text, kind) in [
        ("text/plain;version=0.0.4", "a_b{c_d=\"e\"}", "underscores"),
        (
            "text/plain;version=1.0.0;escaping=allow-utf-8",
            "{\"a.b\",\"c.d\"=\"e\"}",
            "allow-utf-8",
        ),
    ] {
        let answer = accepted(accept).await;
        assert_eq!(answer.text(), format!("{text} 1 {time}\n"));
        let sent = answer.headers[header::CONTENT_TYPE].to_str().expect("text");
        assert!(sent.ends_with(&format!("escaping={kind}")), "{sent}");
    }
    let values = client.get("/api/v1/label/U__c_2e_d/values").await.ok();
    assert_eq!(values["data"], json!(["e"]));
    let none = client.get("/federate").await;
    assert_eq!((none.status, none.text().as_str()), (StatusCode::OK, ""));
    let wrong = client.get("/federate?match%5B%5D=rate(up%5B1m%5D)").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    client.stop().await;
}

/// Prometheus before version 3 refuses a whole scrape because of one name that it can't read.
#[test]
fn prometheus_of_any_version_scrapes_dotted_names() {
    let server = Program::start(command());
    let point =
        |metric, tags| json!({"metric": metric, "tags": tags, "timestamp": now_ms(), "value": 7});
    let points = json!([point("plain", json!({})), point("a.b", json!({"c.d": "e"}))]);
    let headers = "content-type: application/json\r\n";
    let body = points.to_string();
    let (status, answer) = server.send("POST", "/series/write", headers, body.as_bytes());
    assert_eq!(status, 200, "{answer}");
    let settings = "  metrics_path: /federate\n  params: {'match[]': ['{__name__=~\".+\"}']}\n";
    let Some(prometheus) = Prometheus::start(&server, settings) else {
        return;
    };
    let begun = Instant::now();
    let ask = |query: &str| loop {
        let answer = prometheus.ask(query);
        let found = answer.and_then(|answer| answer["data"]["result"].get(0).cloned());
        if let Some(series) = found {
            break series;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{query} has no value"
        );
        std::thread::sleep(Duration::from_millis(100));
    };
    // The dot of the pattern stands for itself and for the underscore of an old version.
    let dotted = ask(r#"{__name__=~"a.b"}"#);
    assert_eq!(dotted["value"][1], "7");
    let labels = dotted["metric"].as_object().expect("an object");
    let tag = labels
        .iter()
        .find(|(name, _)| ["c_d", "c.d"].contains(&name.as_str()));
    assert_eq!(tag.expect("the tag").1, "e");
    assert_eq!(ask("plain")["value"][1], "7");
    assert_eq!(ask("up")["value"][1], "1");
}
