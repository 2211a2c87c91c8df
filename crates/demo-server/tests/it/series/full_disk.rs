//! Writes on a full disk.

use std::fs::File;
use std::io::Write as _;

use serde_json::json;
use tsdb::wire::remote_write;
use tsdb::{Labels, Sample};

use crate::support::program::{Program, command_after};

/// The first write that meets the full disk is in memory, but not in the log. It once got a 400, after
/// which senders forget their samples, and a kill then took them.
#[test]
fn each_write_on_a_full_disk_asks_the_sender_to_send_again() {
    let labels = Labels::new("sent", [("host", "a")]).expect("the labels are valid");
    let sample = [Sample::new(1000, 1.0)];
    let remote = remote_write::encode([(&labels, &sample[..])]);
    let point = json!({"timeUnixNano": "1000000000", "asDouble": 1});
    let metrics = json!([{"name": "sent", "gauge": {"dataPoints": [point]}}]);
    let otlp = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).to_string();
    let points = r#"{"metric":"sent","timestamp":1000,"value":1}"#;
    for (path, headers, body) in [
        ("/write", "", &b"sent value=1"[..]),
        ("/series/write", "", points.as_bytes()),
        ("/api/v1/write", "content-encoding: snappy\r\n", &remote),
        (
            "/api/v1/otlp/v1/metrics",
            "content-type: application/json\r\n",
            otlp.as_bytes(),
        ),
    ] {
        let folder = tempfile::tempdir().expect("the folder exists");
        let mount = r#"mount -t tmpfs -o size=6m none "$1""#;
        let Some(command) = command_after(mount, folder.path()) else {
            return;
        };
        let server = Program::start(command);
        let (status, answer) = server.send("POST", path, headers, body);
        assert!(status < 300, "{path}: {status} {answer}");
        let in_root = folder.path().strip_prefix("/");
        let in_root = in_root.expect("the path is absolute");
        let rest = server.path("root").join(in_root).join("rest");
        let mut rest = File::create(rest).expect("the file is created");
        // Byte by byte at the end: the log must find no room at all.
        for size in [1 << 16, 1] {
            while rest.write_all(&vec![0; size]).is_ok() {}
        }
        let mut refused = 0;
        // The last block of the log may have room for a few.
        while refused < 3 {
            let (status, answer) = server.send("POST", path, headers, body);
            match status {
                503 => refused += 1,
                _ => assert!(refused == 0 && status < 300, "{path}: {status} {answer}"),
            }
        }
    }
}
