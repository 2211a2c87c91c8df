//! The dashboard `grafana.json`: its form, its metrics, and its queries in a real Prometheus.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::program::{Program, command};
use crate::support::prometheus::Prometheus;

/// The panels with a query.
fn panels() -> Vec<Value> {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../grafana.json")).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels");
    let panels = panels.iter().filter(|panel| panel["type"] == "timeseries");
    panels.cloned().collect()
}

/// The queries, with the title of their panel. The variables have the values of a dashboard that shows everything.
fn queries() -> Vec<(String, String)> {
    let of_panel = |panel: Value| {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array().expect("targets").clone();
        targets.into_iter().map(move |target| {
            let query = target["expr"].as_str().expect("a query");
            let query = query
                .replace("$job", ".*")
                .replace("$instance", ".*")
                .replace("$__rate_interval", "5s");
            (title.clone(), query)
        })
    };
    panels().into_iter().flat_map(of_panel).collect()
}

/// The metrics that a query names.
fn metrics(query: &str) -> BTreeSet<&str> {
    let prefixes = ["dcb_", "message_store_", "process_", "registrar_", "tsdb_"];
    query
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        .collect()
}

/// A server with files, which forwards to a port without a server: so it serves every metric.
fn start(folder: &Path) -> Program {
    let mut command = command();
    command.arg("--data").arg(folder.join("data"));
    command.args(["--forward-to", "http://127.0.0.1:1/api/v1/write"]);
    Program::start(command)
}

/// Appends, decides, writes and asks, so that most metrics have a value.
fn use_stores(server: &Program) {
    let event = r#"{"events":{"type":"Opened","data":"{}","tags":["a:1"]}}"#;
    let message = r#"["stream.write","account-1",{"type":"Opened","data":{}}]"#;
    let requests = [
        ("/dcb/append", event),
        ("/rpc", message),
        ("/rpc", r#"["stream.get","account-1"]"#),
        ("/write", "cpu usage=1,idle=2"),
        ("/demo/courses", ""),
    ];
    for (path, body) in requests {
        let (status, answer) = server.call("POST", path, body);
        assert!(status < 300, "{path}: {status} {answer}");
    }
    let read = server.call("GET", "/dcb/read?options=%7B%22limit%22:1%7D", "");
    assert_eq!(read.0, 200, "{}", read.1);
}

#[test]
fn panels_have_queries_and_stand_beside_each_other() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../grafana.json")).expect("the dashboard is JSON");
    assert!(dashboard["schemaVersion"].as_u64() >= Some(36));
    let all = dashboard["panels"].as_array().expect("it has panels");
    let ids: BTreeSet<u64> = all
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    assert_eq!(ids.len(), all.len());
    let mut cells = BTreeSet::new();
    for panel in all {
        let place = |side: &str| panel["gridPos"][side].as_u64().expect("a place");
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(cells.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
    }
    assert!(panels().len() >= 20);
    for panel in panels() {
        assert_eq!(panel["datasource"]["uid"], json!("${datasource}"));
        let targets = panel["targets"].as_array().expect("targets");
        let marks: BTreeSet<&str> = targets
            .iter()
            .filter_map(|one| one["refId"].as_str())
            .collect();
        assert!(
            !targets.is_empty() && marks.len() == targets.len(),
            "{}",
            panel["title"]
        );
    }
}

#[test]
fn queries_parse_and_name_only_metrics_that_are_served() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let server = start(folder.path());
    use_stores(&server);
    let (_, served) = server.call("GET", "/metrics", "");
    let served: BTreeSet<&str> = served
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for (title, query) in queries() {
        let parsed = tsdb::promql::Query::parse(&query);
        assert!(parsed.is_ok(), "{title}: {query}: {:?}", parsed.err());
        let named = metrics(&query);
        assert!(!named.is_empty(), "{title}: {query}");
        for name in named {
            let mut parts = ["_bucket", "_count", "_sum"].iter();
            let family = parts.find_map(|part| name.strip_suffix(part));
            let family = family.filter(|family| served.contains(family));
            assert!(served.contains(family.unwrap_or(name)), "{title}: {name}");
        }
    }
}

#[test]
fn queries_have_answers_in_prometheus() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let server = start(folder.path());
    use_stores(&server);
    let Some(prometheus) = Prometheus::start(&server, "") else {
        return;
    };
    let has_values = |answer: Option<Value>| {
        answer.is_some_and(|answer| {
            assert_eq!(answer["status"], "success", "{answer}");
            assert_eq!(answer["warnings"], Value::Null, "{answer}");
            answer["data"]["result"]
                .as_array()
                .is_some_and(|series| !series.is_empty())
        })
    };
    let begun = Instant::now();
    // Used again and again, so that the rates have values.
    while !has_values(prometheus.ask("rate(registrar_http_requests_total[5s])")) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "nothing is scraped"
        );
        use_stores(&server);
        std::thread::sleep(Duration::from_millis(200));
    }
    let silent: Vec<_> = queries()
        .into_iter()
        .filter(|(_, query)| !has_values(prometheus.ask(query)))
        .collect();
    assert_eq!(silent, []);
}
