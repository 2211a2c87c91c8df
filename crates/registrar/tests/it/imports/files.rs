//! NDJSON and KurrentDB's JSON, with rules.

use serde_json::{Value, json};

use super::written;
use crate::support::{each_backend, file, json, refused, run};

const LINES: &str = r#"
{"type":"com.shop.OrderPlaced","id":"018f3c5e-0000-7000-8000-000000000001","time":"2020-01-02T03:04:05.678901Z","stream":"order-7","data":{"orderId":7,"lines":[{"sku":"a"},{"sku":"b"}]},"metadata":{"by":"me","nested":{"a":1}}}

{"type":"OrderPaid","stream":"order-7","data":{"orderId":7},"tags":["paid:yes"]}
"#;

const RULES: &str = r#"
[types]
"com.shop.OrderPlaced" = "OrderPlaced"

[[tags]]
types = ["OrderPlaced", "OrderPaid"]
tag = "order:{orderId}"

[[tags]]
tag = "sku:{lines.sku}"
optional = true

[[tags]]
tag = "stream:{$category}/{$id}"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rules_give_types_and_tags() {
    // One path a template.
    let (_folder, two_paths) = written("rules.toml", RULES);
    let (_lines, lines) = written("shop.ndjson", LINES);
    let failed = refused(
        2,
        &[
            "events", "import", "x", &lines, "--format", "ndjson", "--rules", &two_paths,
        ],
    );
    assert!(failed.contains("expected one path"), "{failed}");

    let (_rules, rules) = written("rules.toml", &RULES.replace("/{$id}", ""));
    for log in each_backend("rules").await {
        let import = [
            "events", "import", &log.place, &lines, "--format", "ndjson", "--rules", &rules,
        ];
        let counts = &json(&[&import[..], &["--dry-run"]].concat())[0];
        assert_eq!(
            (&counts["events"], &counts["faults"]),
            (&json!(2), &json!(0))
        );
        assert_eq!(
            counts["tags"],
            json!({"order": 2, "paid": 1, "sku": 2, "stream": 2})
        );
        assert_eq!(json(&import)[0], *counts);

        let events = json(&["events", "query", &log.place]);
        assert_eq!(events[0]["type"], "OrderPlaced");
        assert_eq!(events[0]["id"], "018f3c5e-0000-7000-8000-000000000001");
        assert_eq!(events[0]["recordedAt"], "2020-01-02T03:04:05.678901Z");
        assert_eq!(
            events[0]["tags"],
            json!(["order:7", "sku:a", "sku:b", "stream:order"])
        );
        assert_eq!(
            events[0]["metadata"],
            json!({"by": "me", "nested": "{\"a\":1}"})
        );
        assert_eq!(
            events[1]["tags"],
            json!(["order:7", "paid:yes", "stream:order"])
        );
        // Again: nothing is new.
        assert_eq!(json(&import)[0]["events"], 0);
        assert_eq!(json(&["events", "stats", &log.place])[0]["events"], 2);
    }
}

#[test]
fn a_dry_run_lists_faults_by_line_and_writes_nothing() {
    let (_rules, rules) = written("rules.toml", "[[tags]]\ntag = \"order:{orderId}\"\n");
    let lines =
        "{\"type\":\"A\",\"data\":{\"orderId\":1}}\n{\"type\":\"A\",\"data\":{}}\n\n{\"typ\":1}\n";
    let (_lines, lines) = written("faulty.ndjson", lines);
    let log = file();
    let import = [
        "events", "import", &log.place, &lines, "--format", "ndjson", "--rules", &rules,
    ];
    let ran = run(&[&import[..], &["--dry-run", "--json"]].concat());
    assert_eq!(ran.status.code(), Some(2));
    let counts: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(
        (&counts["events"], &counts["faults"]),
        (&json!(1), &json!(2))
    );
    let faults = String::from_utf8(ran.stderr).expect("text");
    assert!(
        faults.contains("line 2: the A has no text or number at"),
        "{faults}"
    );
    assert!(faults.contains("line 4: "), "{faults}");
    assert!(!std::path::Path::new(&log.place).exists());

    // The import ends at the first fault, and goes on there once the line is right.
    let failed = refused(2, &import);
    assert!(failed.contains("line 2"), "{failed}");
    assert_eq!(json(&["events", "stats", &log.place])[0]["events"], 1);
    let right =
        "{\"type\":\"A\",\"data\":{\"orderId\":1}}\n{\"type\":\"A\",\"data\":{\"orderId\":2}}\n";
    std::fs::write(&lines, right).expect("written");
    assert_eq!(json(&import)[0]["events"], 1);
    assert_eq!(
        json(&["events", "query", &log.place])[1]["tags"],
        json!(["order:2"])
    );
}

/// A page of the HTTP interface, with the newest event first, and then events one a line.
const EXPORTED: &str = r#"{"title":"All events","entries":[
 {"eventId":"018f3c5e-0000-7000-8000-000000000002","eventType":"Paid","eventNumber":1,"data":"{\"id\":7}","metaData":"{\"$correlationId\":\"c\"}","streamId":"order-7","isJson":true,"updated":"2020-01-02T03:04:06Z","id":"http://127.0.0.1:2113/streams/order-7/1"},
 {"eventId":"018f3c5e-0000-7000-8000-000000000009","eventType":"$metadata","eventNumber":0,"data":"{}","streamId":"$$order-7"},
 {"eventId":"018f3c5e-0000-7000-8000-000000000001","eventType":"Placed","eventNumber":0,"data":"{\"id\":7}","streamId":"order-7","updated":"2020-01-02T03:04:05Z"}]}
{"eventId":"018f3c5e-0000-7000-8000-000000000003","eventType":"Shipped","data":{"id":7},"metadata":{"by":"me"},"streamId":"order-7","created":"2020-01-02T03:04:07Z"}
"#;

#[test]
fn kurrentdb_is_imported_in_its_order() {
    let (_input, input) = written("all.json", EXPORTED);
    let (_rules, rules) = written("rules.toml", "[[tags]]\ntag = \"{$stream}\"\n");
    let log = file();
    let import = [
        "events",
        "import",
        &log.place,
        &input,
        "--format",
        "kurrentdb",
        "--rules",
        &rules,
    ];
    assert_eq!(json(&import)[0]["events"], 3);
    let events = json(&["events", "query", &log.place, "--tag", "order-7"]);
    let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["Placed", "Paid", "Shipped"]);
    assert_eq!(events[1]["id"], "018f3c5e-0000-7000-8000-000000000002");
    assert_eq!(events[1]["data"], json!({"id": 7}));
    assert_eq!(events[1]["metadata"], json!({"$correlationId": "c"}));
    assert_eq!(events[2]["recordedAt"], "2020-01-02T03:04:07Z");
    assert_eq!(json(&import)[0]["events"], 0);
}
