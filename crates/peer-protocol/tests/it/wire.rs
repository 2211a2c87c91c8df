//! The lines of the protocol.

use crate::log::SMALL;
use peer_protocol::{Answer, Latencies, Operation, Reply, Request, Run};
use std::time::Duration;

#[test]
fn lines_are_as_documented() {
    let run = Run {
        operation: Operation::AppendBatch { events: 64 },
        callers: 8,
        seconds: 0.5,
        limit: None,
    };
    let line = serde_json::to_string(&Request::Run(run)).unwrap();
    let expected = r#"{"run":{"operation":{"append_batch":{"events":64}},"callers":8,"seconds":0.5,"limit":null}}"#;
    assert_eq!(line, expected);
    let line = serde_json::to_string(&Request::Prepare(SMALL)).unwrap();
    assert_eq!(
        line,
        r#"{"prepare":{"events":3000,"payload_bytes":40,"seed":7}}"#
    );
    let line = serde_json::to_string(&Reply::Failed {
        reason: "full".to_owned(),
    })
    .unwrap();
    assert_eq!(line, r#"{"failed":{"reason":"full"}}"#);
}

#[test]
fn latencies_keep_their_quantiles_on_the_way() {
    let mut latencies = Latencies::default();
    for micros in 1..=1_000 {
        latencies.record(Duration::from_micros(micros));
    }
    let answer = Answer {
        latencies,
        ..Answer::default()
    };
    let line = serde_json::to_string(&answer).unwrap();
    let read: Answer = serde_json::from_str(&line).unwrap();
    assert_eq!(read, answer);
    let p99 = read.latencies.quantile_ns(0.99) as f64;
    assert!((p99 / 990_000.0 - 1.0).abs() < 0.001, "{p99}");
}
