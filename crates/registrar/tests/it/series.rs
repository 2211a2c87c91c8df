use serde_json::json;
use tsdb::{Db, Labels, OpenOptions, Sample};

use crate::support::{folder, json, printed, refused};

#[test]
fn series_are_looked_at_while_a_server_uses_them() {
    let data = folder();
    let db =
        Db::open(format!("{}/series", data.place), OpenOptions::default()).expect("a database");
    let labels = Labels::new("load", [("host", "a")]).expect("labels");
    db.append(&labels, Sample::new(1_000, 0.5))
        .expect("appended");
    db.append(&labels, Sample::new(2_000, 1.5))
        .expect("appended");
    db.sync().expect("written");
    // The database stays open, as in a server.
    let place = data.place.as_str();
    let stats = &json(&["series", "stats", place])[0];
    assert_eq!(stats["series"], 1);
    assert_eq!(stats["last"], "1970-01-01T00:00:02Z");
    let listed = json(&["series", "list", place, "--select", "load"]);
    assert_eq!(listed, [json!({"__name__": "load", "host": "a"})]);
    let at = ["series", "query", place, "load", "--time", "2"];
    assert_eq!(
        json(&at)[0]["data"]["result"][0]["value"],
        json!([2, "1.5"])
    );
    assert_eq!(printed(&at), "load{host=\"a\"} 1.5 1970-01-01T00:00:02Z\n");
    let range = [
        "series", "query", place, "load", "--start", "1", "--end", "2", "--step", "1s",
    ];
    assert_eq!(printed(&range).lines().count(), 2);
    assert_eq!(
        json(&["series", "check", place]),
        [json!({"samples": 2, "damage": []})]
    );
    refused(2, &["series", "query", place, "load{"]);

    db.append(&labels, Sample::new(3_000, 2.5))
        .expect("the server goes on");
}
