use serde_json::{Value, json};

use crate::support::{each_backend, fed, file, folder, json, printed, refused};

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_written_under_a_version_and_read_back() {
    for store in each_backend("messages").await {
        let place = store.place.as_str();
        fed(&["messages", "import", place, "-"], "");
        let write = ["messages", "write", place, "account-1", "Opened"];
        let written = json(&[&write[..], &["--expect", "-1", "-d", r#"{"owner":"Ada"}"#]].concat());
        assert_eq!(written, [json!({"position": 0, "globalPosition": 1})]);
        let conflict = refused(1, &[&write[..], &["--expect", "-1"]].concat());
        assert!(conflict.contains("account-1"), "{conflict}");
        json(&["messages", "write", place, "order-7", "Placed"]);

        let messages = json(&["messages", "read", place, "--category", "account"]);
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["data"], json!({"owner": "Ada"}));
        assert_eq!(
            json(&["messages", "read", place, "--stream", "order-7"])[0]["type"],
            "Placed"
        );
        assert_eq!(
            json(&["messages", "read", place, "--from", "2"])[0]["gpos"],
            2
        );

        let stats = &json(&["messages", "stats", place])[0];
        assert_eq!(
            (&stats["streams"], &stats["messages"]),
            (&json!(2), &json!(2))
        );
        let streams = json(&["messages", "streams", place, "--prefix", "acc"]);
        assert_eq!(streams[0]["stream"], "account-1");
        let categories = json(&["messages", "categories", place]);
        assert_eq!(
            categories[0],
            json!({"category": "account", "streams": 1, "messages": 1})
        );
        assert_eq!(
            json(&["messages", "checkpoints", place]),
            Vec::<Value>::new()
        );

        let other = file();
        let exported = printed(&["messages", "export", place]);
        let imported = fed(
            &["messages", "import", &other.place, "-", "--json"],
            &exported,
        );
        assert_eq!(
            String::from_utf8_lossy(&imported.stdout),
            "{\"read\":2,\"stored\":2}\n"
        );
        assert_eq!(
            json(&["messages", "read", &other.place]),
            json(&["messages", "read", place])
        );
    }
}

#[test]
fn a_data_folder_has_namespaces() {
    let data = folder();
    let import = [
        "messages",
        "import",
        data.place.as_str(),
        "--namespace",
        "Shop",
        "-",
    ];
    assert!(fed(&import, "").status.success());
    let shop = ["--namespace", "Shop"];
    printed(&[&["messages", "write", &data.place, "a-1", "A"][..], &shop].concat());
    assert_eq!(
        json(&[&["messages", "stats", &data.place][..], &shop].concat())[0]["messages"],
        1
    );
    let missing = refused(4, &["messages", "stats", &data.place]);
    assert!(missing.contains("default"), "{missing}");
}
