use dcb_core::{AnyStore, Event, EventStore as _};

use crate::support::{fed, folder, json, printed, refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_is_copied_while_a_service_uses_it() {
    let data = folder();
    let events = format!("{}/events.sqlite", data.place);
    let store = AnyStore::open(&events).await.expect("a log");
    store
        .append(Event::builder("A").build().expect("an event"))
        .await
        .expect("appended");
    assert!(
        fed(&["messages", "import", &data.place, "-"], "")
            .status
            .success()
    );
    printed(&["messages", "write", &data.place, "a-1", "A"]);

    let to = format!("{}/copy", folder().place);
    std::fs::create_dir_all(std::path::Path::new(&to).parent().expect("a parent"))
        .expect("a folder");
    assert_eq!(
        json(&["backup", &data.place, &to])[0]["backups"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert_eq!(json(&["events", "stats", &to])[0]["events"], 1);
    assert_eq!(json(&["messages", "stats", &to])[0]["messages"], 1);
    refused(4, &["backup", &data.place, &to]);

    let file = format!("{to}/again.sqlite");
    printed(&["backup", &events, &file]);
    assert_eq!(json(&["events", "stats", &file])[0]["events"], 1);
    refused(4, &["backup", &events, &file]);
}
