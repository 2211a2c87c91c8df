use crate::support::{database, file, folder, refused, run};

#[tokio::test(flavor = "multi_thread")]
async fn scripts_can_tell_failures_apart() {
    let nothing = file();
    let missing = refused(4, &["events", "stats", &nothing.place]);
    assert!(missing.contains("there is no store"), "{missing}");
    assert!(
        !std::path::Path::new(&nothing.place).exists(),
        "a look creates nothing"
    );
    let append = ["events", "append", nothing.place.as_str(), "A"];
    refused(4, &append);
    assert!(
        !std::path::Path::new(&nothing.place).exists(),
        "an append creates no file"
    );

    let empty = database("empty").await;
    let missing = refused(4, &["events", "stats", &empty.place]);
    assert!(missing.contains("registrar schema install"), "{missing}");
    refused(4, &["messages", "stats", &empty.place]);
    refused(4, &["schema", "check", &empty.place]);

    let secret = "postgres://me:secret@127.0.0.1:1/nowhere";
    let unreachable = refused(3, &["events", "stats", secret]);
    assert!(!unreachable.contains("secret"), "{unreachable}");

    refused(2, &["events", "nonsense"]);
    refused(2, &["events", "stats", "mysql://host/database"]);
    refused(2, &["events", "query", &empty.place, "--query", "{"]);
    refused(2, &["events", "append", &empty.place, "A", "--after", "1"]);
    refused(2, &["messages", "read", &nothing.place, "--namespace", "a"]);
    refused(2, &["series", "stats", &nothing.place]);
    refused(2, &["backup", &empty.place, &folder().place]);
}

#[test]
fn errors_are_json_too() {
    let nothing = file();
    let failed = run(&["events", "stats", &nothing.place, "--json"]);
    let error: serde_json::Value = serde_json::from_slice(&failed.stderr).expect("JSON");
    assert_eq!(error["error"]["code"], 4);
    assert_eq!(error["error"]["kind"], "unusable");
    assert!(failed.stdout.is_empty());
}

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completion", shell]);
        assert!(script.status.success());
        assert!(
            String::from_utf8_lossy(&script.stdout).contains("events"),
            "{shell}"
        );
    }
}
