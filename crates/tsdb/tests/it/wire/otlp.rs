//! OpenTelemetry's metrics.

use prost::Message;
use serde_json::{Value, json};
use tsdb::wire::Ingested;
use tsdb::wire::otlp::{Encoding, refused_points, write};
use tsdb::{Db, Exemplars, Matcher, MetricKind};

use crate::support::wire::{contents, db, errors};

/// Writes JSON. The values of 64-bit integers may be numbers or strings.
fn send(db: &Db, exemplars: &Exemplars, request: &Value) -> Ingested {
    write(
        db,
        exemplars,
        Encoding::Json,
        request.to_string().as_bytes(),
    )
    .expect("the request is valid")
}

/// A request with these metrics of one resource.
fn request(resource: &Value, metrics: &Value) -> Value {
    json!({"resourceMetrics": [{
        "resource": {"attributes": resource},
        "scopeMetrics": [{"scope": {"name": "test"}, "metrics": metrics}],
    }]})
}

fn write_metrics(db: &Db, metrics: &Value) -> Ingested {
    send(db, &Exemplars::new(10_000), &request(&json!([]), metrics))
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

#[test]
fn gauges_and_sums_are_written() {
    let db = db();
    let point = |value: Value, attributes: Value| {
        let mut point = json!({"timeUnixNano": "1500000000", "attributes": attributes});
        point["asDouble"] = value;
        point
    };
    let int = json!({"timeUnixNano": "2500999999", "asInt": "-7"});
    let metrics = json!([
        {"name": "cpu.utilization", "unit": "1", "description": "Busy share",
         "gauge": {"dataPoints": [point(json!(0.5), json!([text("cpu.id", "a")]))]}},
        {"name": "temperature", "unit": "Cel",
         "gauge": {"dataPoints": [int, point(json!("NaN"), json!([]))]}},
        {"name": "http.requests", "unit": "{request}",
         "sum": {"aggregationTemporality": 2, "isMonotonic": true,
                 "dataPoints": [point(json!(3), json!([]))]}},
        {"name": "queue", "sum": {"aggregationTemporality": 2,
                 "dataPoints": [point(json!(4.25), json!([]))]}},
    ]);
    let ingested = write_metrics(&db, &metrics);
    assert_eq!((ingested.written, ingested.refused), (5, 0));
    assert_eq!(
        contents(&db),
        [
            r#"cpu_utilization_ratio{cpu_id="a"} 1500:0.5"#,
            "http_requests_total 1500:3",
            "queue 1500:4.25",
            "temperature_celsius 1500:NaN 2500:-7",
        ]
    );
    let kind = |metric: &str| db.metadata(metric).unwrap_or_default().kind;
    assert_eq!(kind("http_requests_total"), MetricKind::Counter);
    assert_eq!(kind("queue"), MetricKind::Gauge);
    let cpu = db.metadata("cpu_utilization_ratio").unwrap_or_default();
    assert_eq!(
        (cpu.kind, cpu.help.as_str()),
        (MetricKind::Gauge, "Busy share")
    );
}

#[test]
fn histograms_and_summaries_become_several_series() {
    let db = db();
    let exemplars = Exemplars::new(10_000);
    let metrics = json!([
        {"name": "latency", "unit": "s", "histogram": {"aggregationTemporality": 2, "dataPoints": [{
            "timeUnixNano": "1000000000", "count": "6", "sum": 7.5,
            "bucketCounts": ["1", 2, "3"], "explicitBounds": [0.5, 1],
            "exemplars": [
                {"timeUnixNano": "900000000", "asDouble": 0.75, "traceId": "5F0C", "spanId": "01",
                 "filteredAttributes": [text("user", "u1")]},
                {"timeUnixNano": "950000000", "asInt": "9"},
            ],
        }]}},
        {"name": "size", "unit": "By", "summary": {"dataPoints": [{
            "timeUnixNano": "1000000000", "count": "2", "sum": 30,
            "quantileValues": [{"quantile": 0.5, "value": 10}, {"quantile": 1, "value": 20}],
        }]}},
    ]);
    let ingested = send(&db, &exemplars, &request(&json!([]), &metrics));
    assert_eq!((ingested.written, ingested.refused), (9, 0));
    assert_eq!(
        contents(&db),
        [
            r#"latency_seconds_bucket{le="+Inf"} 1000:6"#,
            r#"latency_seconds_bucket{le="0.5"} 1000:1"#,
            r#"latency_seconds_bucket{le="1"} 1000:3"#,
            "latency_seconds_count 1000:6",
            "latency_seconds_sum 1000:7.5",
            "size_bytes_count 1000:2",
            "size_bytes_sum 1000:30",
            r#"size_bytes{quantile="0.5"} 1000:10"#,
            r#"size_bytes{quantile="1"} 1000:20"#,
        ]
    );
    let latency = db.metadata("latency_seconds").unwrap_or_default();
    assert_eq!(latency.kind, MetricKind::Histogram);
    let all = [vec![Matcher::metric("latency_seconds_bucket")]];
    let found = exemplars.select(&all, i64::MIN, i64::MAX);
    let found: Vec<String> = found
        .iter()
        .flat_map(|(series, exemplars)| {
            let le = series.get("le").unwrap_or_default();
            let exemplars = exemplars.iter();
            exemplars.map(move |one| format!("{le} {} {}", one.labels, one.sample.value))
        })
        .collect();
    let mut sorted = found;
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "+Inf {} 9",
            r#"1 {span_id="01",trace_id="5f0c",user="u1"} 0.75"#
        ]
    );
}

#[test]
fn resource_becomes_job_instance_and_target_info() {
    let db = db();
    let resource = json!([
        text("service.name", "shop"),
        text("service.namespace", "eu"),
        text("service.instance.id", "i-1"),
        text("host.name", "web-1"),
        {"key": "process.pid", "value": {"intValue": "42"}},
    ]);
    let point = |second: u64, attributes: Value| json!({"timeUnixNano": (second * 1_000_000_000).to_string(), "asInt": 1, "attributes": attributes});
    // An attribute of a point does not change the identity.
    let points = json!([point(100, json!([])), point(400, json!([text("job", "x")]))]);
    let metrics = json!([{"name": "up", "gauge": {"dataPoints": points}}]);
    let ingested = send(&db, &Exemplars::new(1000), &request(&resource, &metrics));
    assert_eq!(ingested.refused, 0);
    assert_eq!(
        contents(&db),
        [
            r#"target_info{host_name="web-1",instance="i-1",job="eu/shop",process_pid="42"} 100000:1 250000:1 400000:1"#,
            r#"up{instance="i-1",job="eu/shop"} 100000:1 400000:1"#,
        ]
    );
}

#[test]
fn identity_alone_needs_no_target_info() {
    for resource in [
        json!([text("service.name", "shop")]),
        json!([text("host.name", "web-1")]),
    ] {
        let db = db();
        let point = json!({"timeUnixNano": "1000000000", "asInt": 1});
        let metrics = json!([{"name": "up", "gauge": {"dataPoints": [point]}}]);
        let ingested = send(&db, &Exemplars::new(1000), &request(&resource, &metrics));
        assert_eq!((ingested.written, db.series_count()), (1, 1));
    }
}

/// The specification leaves the last bound out. A sender that wrote it got a second bucket,
/// `le="inf"`, which every quantile counted again.
#[test]
fn bound_of_infinity_is_the_last_bucket() {
    let db = db();
    let metrics = json!([
        {"name": "latency", "histogram": {"aggregationTemporality": 2, "dataPoints": [{
            "timeUnixNano": "1000000000", "count": "8", "sum": 7.5,
            "bucketCounts": ["1", "3", "2", "2", "0"],
            "explicitBounds": ["-Infinity", 1, 2, "Infinity"],
        }]}},
        {"name": "size", "summary": {"dataPoints": [{
            "timeUnixNano": "1000000000", "count": "2", "sum": 30,
            "quantileValues": [{"quantile": "Infinity", "value": 10}],
        }]}},
    ]);
    let _ = write_metrics(&db, &metrics);
    assert_eq!(
        contents(&db),
        [
            r#"latency_bucket{le="+Inf"} 1000:8"#,
            r#"latency_bucket{le="-Inf"} 1000:1"#,
            r#"latency_bucket{le="1"} 1000:4"#,
            r#"latency_bucket{le="2"} 1000:6"#,
            "latency_count 1000:8",
            "latency_sum 1000:7.5",
            "size_count 1000:2",
            "size_sum 1000:30",
            r#"size{quantile="+Inf"} 1000:10"#,
        ]
    );
}

/// A hostile range of times must not become millions of samples.
#[test]
fn target_info_has_a_bounded_number_of_samples() {
    let db = db();
    let resource = json!([text("service.name", "shop"), text("host.name", "web-1")]);
    let point = |time: u64| json!({"timeUnixNano": time.to_string(), "asInt": 1});
    let points = json!([point(0), point(u64::MAX)]);
    let metrics = json!([{"name": "up", "gauge": {"dataPoints": points}}]);
    let ingested = send(&db, &Exemplars::new(1000), &request(&resource, &metrics));
    assert!(ingested.written < 2000, "{} samples", ingested.written);
}

#[test]
fn point_without_a_recorded_value_is_stale() {
    let db = db();
    let point = json!({"timeUnixNano": "1000000000", "flags": 1});
    let metrics = json!([
        {"name": "gone", "gauge": {"dataPoints": [point]}},
        {"name": "gone.too", "summary": {"dataPoints": [point]}},
    ]);
    assert_eq!(write_metrics(&db, &metrics).written, 3);
    for series in db.select(&[], 0, 5000).iter() {
        let mut samples = Vec::new();
        series.collect_into(&mut samples);
        assert!(samples.iter().all(tsdb::Sample::is_stale));
    }
}

#[test]
fn points_that_cannot_be_stored_are_refused_with_the_reason() {
    let db = db();
    let point = json!({"timeUnixNano": "1000000000", "asInt": 1, "count": 1});
    let unnamed =
        json!({"timeUnixNano": "1000000000", "asInt": 1, "attributes": [text("..", "x")]});
    let metrics = json!([
        {"name": "delta", "exponentialHistogram":
            {"aggregationTemporality": 1, "dataPoints": [point, point]}},
        {"name": "none", "histogram": {"dataPoints": [point]}},
        {"name": "…", "gauge": {"dataPoints": [point]}},
        {"name": "native", "exponentialHistogram": {"dataPoints": [{"scale": 3}]}},
        {"name": "odd"},
        {"name": "good", "gauge": {"dataPoints": [unnamed, point]}},
    ]);
    let ingested = write_metrics(&db, &metrics);
    assert_eq!((ingested.written, ingested.refused), (1, 7));
    assert_eq!(refused_points(&ingested), 7);
    assert_eq!(
        errors(&ingested),
        [
            "0: metric delta: an exponential histogram must be cumulative",
            "1: metric delta: an exponential histogram must be cumulative",
            "2: metric none: the aggregation temporality must be cumulative or delta",
            "3: metric …: the name has no letter or digit",
            "4: metric native: the aggregation temporality must be cumulative or delta",
            "5: metric odd: the type of the data is unknown",
            r#"6: the attribute ".." can't be a label name"#,
        ]
    );
    assert_eq!(contents(&db), ["good 1000:1"]);
}

/// Increases once were refused.
#[test]
fn increases_are_added_up_and_a_repeated_request_changes_nothing() {
    let db = db();
    let point = |second: u64, value: f64| json!({"timeUnixNano": second * 1_000_000_000, "asDouble": value});
    let histogram = |second: u64, counts: [u64; 2]| {
        json!({"timeUnixNano": second * 1_000_000_000, "count": counts[0] + counts[1], "sum": 1.5,
               "bucketCounts": counts, "explicitBounds": [1]})
    };
    let metrics = |points: Value, histograms: Value| {
        json!([
            {"name": "sent", "sum": {"aggregationTemporality": 1, "isMonotonic": true, "dataPoints": points}},
            {"name": "size", "histogram": {"aggregationTemporality": 1, "dataPoints": histograms}},
        ])
    };
    let first = metrics(
        json!([point(1, 2.0), point(2, 3.0)]),
        json!([histogram(1, [1, 2])]),
    );
    assert_eq!(write_metrics(&db, &first).refused, 0);
    let second = metrics(json!([point(3, 4.0)]), json!([histogram(2, [3, 0])]));
    assert_eq!(write_metrics(&db, &second).refused, 0);
    let totals = [
        "sent_total 1000:2 2000:5 3000:9",
        r#"size_bucket{le="+Inf"} 1000:3 2000:6"#,
        r#"size_bucket{le="1"} 1000:1 2000:4"#,
        "size_count 1000:3 2000:6",
        "size_sum 1000:1.5 2000:3",
    ];
    assert_eq!(contents(&db), totals);
    let repeated = write_metrics(&db, &second);
    assert_eq!((repeated.written, refused_points(&repeated)), (0, 2));
    assert_eq!(contents(&db), totals);
}

/// Exponential histograms once were refused.
#[test]
fn exponential_histogram_becomes_a_classic_one() {
    let db = db();
    let metrics = json!([{"name": "size", "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [
        // 4 buckets for each power of two: (2^0.5, 2^0.75], .. (2^1.25, 2^1.5].
        {"timeUnixNano": "1000000000", "count": "10", "sum": 9, "scale": 2, "zeroCount": 1,
         "positive": {"offset": 2, "bucketCounts": [1, 2, 3, "0"]},
         "negative": {"offset": 0, "bucketCounts": [1, 2]}},
        // A bucket for two powers of two: (1, 4], (4, 16].
        {"timeUnixNano": "2000000000", "count": "3", "scale": -1,
         "positive": {"offset": 0, "bucketCounts": [1, 2]}},
        // Beyond all bounds.
        {"timeUnixNano": "3000000000", "count": "1", "scale": -10,
         "positive": {"offset": 2147483647, "bucketCounts": [1]}},
    ]}}]);
    let ingested = write_metrics(&db, &metrics);
    assert_eq!(errors(&ingested), [""; 0]);
    assert_eq!(
        contents(&db),
        [
            r#"size_bucket{le="+Inf"} 1000:10 2000:3 3000:1"#,
            r#"size_bucket{le="-1"} 1000:3"#,
            r#"size_bucket{le="0"} 1000:4"#,
            r#"size_bucket{le="16"} 2000:3"#,
            r#"size_bucket{le="2"} 1000:7"#,
            r#"size_bucket{le="4"} 1000:10 2000:1"#,
            "size_count 1000:10 2000:3 3000:1",
            "size_sum 1000:9",
        ]
    );
}

#[test]
fn attributes_of_all_types_become_texts() {
    let db = db();
    let attributes = json!([
        {"key": "array", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "x"}]}}},
        {"key": "bool", "value": {"boolValue": true}},
        {"key": "bytes", "value": {"bytesValue": "AQI="}},
        {"key": "double", "value": {"doubleValue": 2}},
        {"key": "int", "value": {"intValue": "-3"}},
        {"key": "map", "value": {"kvlistValue": {"values": [text("k", "v")]}}},
        {"key": "none", "value": {}},
        {"key": "nothing"},
        text("same.name", "1"),
        text("same_name", "2"),
    ]);
    let point = json!({"timeUnixNano": "1000000000", "asInt": 1, "attributes": attributes});
    let metrics = json!([{"name": "m", "gauge": {"dataPoints": [point]}}]);
    assert_eq!(write_metrics(&db, &metrics).written, 1);
    let all = db.list_series(&[]);
    let label = |name: &str| all[0].get(name).unwrap_or_default();
    for (name, value) in [
        ("array", r#"[1,"x"]"#),
        ("bool", "true"),
        ("bytes", "AQI="),
        ("double", "2"),
        ("int", "-3"),
        ("map", r#"{"k":"v"}"#),
        ("none", ""),
        ("nothing", ""),
        ("same_name", "1;2"),
    ] {
        assert_eq!(label(name), value, "{name}");
    }
}

#[test]
fn malformed_body_writes_nothing() {
    let db = db();
    let exemplars = Exemplars::new(1000);
    let valid = request(&json!([]), &json!([]));
    for (encoding, body) in [
        (Encoding::Json, &b"{"[..]),
        (Encoding::Json, br#"{"resourceMetrics": 1}"#),
        (Encoding::Protobuf, valid.to_string().as_bytes()),
        (Encoding::Protobuf, b"\x0a\x05\x12"),
    ] {
        assert!(write(&db, &exemplars, encoding, body).is_err());
    }
    // Deeper than any sender nests, which must not exhaust the stack.
    let depth = 100_000;
    let value = format!(
        r#"{}{{}}{}"#,
        r#"{"arrayValue":{"values":["#.repeat(depth),
        "]}}".repeat(depth)
    );
    let deep = format!(
        r#"{{"resourceMetrics":[{{"resource":{{"attributes":[{{"key":"k","value":{value}}}]}}}}]}}"#
    );
    assert!(write(&db, &exemplars, Encoding::Json, deep.as_bytes()).is_err());
    assert_eq!(db.series_count(), 0);
}

/// The same metric as protocol buffers. `demo-server` is tested with a real exporter.
#[test]
fn protobuf_is_read_too() {
    #[derive(Clone, PartialEq, Message)]
    struct Nested {
        #[prost(bytes = "vec", tag = "1")]
        first: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        second: Vec<u8>,
    }
    #[derive(Clone, PartialEq, Message)]
    struct Metric {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(message, optional, tag = "5")]
        gauge: Option<Gauge>,
    }
    #[derive(Clone, PartialEq, Message)]
    struct Gauge {
        #[prost(message, repeated, tag = "1")]
        points: Vec<Point>,
    }
    #[derive(Clone, PartialEq, Message)]
    struct Point {
        #[prost(fixed64, tag = "3")]
        time: u64,
        #[prost(sfixed64, optional, tag = "6")]
        value: Option<i64>,
    }
    let point = Point {
        time: 1_000_000_000,
        value: Some(-5),
    };
    let metric = Metric {
        name: "depth".to_owned(),
        gauge: Some(Gauge {
            points: vec![point],
        }),
    };
    let second = |message: Vec<u8>| Nested {
        second: message,
        ..Nested::default()
    };
    let scope = second(metric.encode_to_vec());
    let resource = second(scope.encode_to_vec());
    let request = Nested {
        first: resource.encode_to_vec(),
        ..Nested::default()
    };
    let db = db();
    let body = request.encode_to_vec();
    let ingested = write(&db, &Exemplars::new(1000), Encoding::Protobuf, &body);
    assert_eq!(ingested.expect("the request is valid").written, 1);
    assert_eq!(contents(&db), ["depth 1000:-5"]);
}
