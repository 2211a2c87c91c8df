use super::Subject;
use super::fixture::{category, fill, names, read, with_metadata, write};
use message_store::{CategoryRead, MessageStore};

async fn correlated(
    store: &Subject<impl MessageStore>,
    category_name: &str,
    with: &str,
) -> Vec<String> {
    let options = CategoryRead::new().correlation(category(with));
    let messages = read(&**store, category_name, options).await;
    names(&messages).into_iter().map(str::to_owned).collect()
}

async fn answer(store: &Subject<impl MessageStore>, stream: &str, to: &str) {
    let metadata = format!(r#"{{"correlationStreamName":"{to}"}}"#);
    write(&**store, stream, with_metadata(&metadata)).await;
}

pub(super) async fn correlation_category_is_compared_exactly(store: &Subject<impl MessageStore>) {
    answer(store, "account-1", "transfer-1").await;
    answer(store, "account-2", "transfers-1").await;
    answer(store, "account-3", "transfer:command-1").await;
    answer(store, "account-4", "transfer").await;
    answer(store, "other-5", "transfer-1").await;
    let found = correlated(store, "account", "transfer").await;
    assert_eq!(found, ["account-1", "account-4"]);
    let found = correlated(store, "account", "transfer:command").await;
    assert_eq!(found, ["account-3"]);
    assert!(correlated(store, "account", "trans").await.is_empty());
}

pub(super) async fn metadata_without_correlation_is_left_out(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1).await;
    for metadata in [
        "null",
        "7",
        r#""correlationStreamName""#,
        r#"["correlationStreamName", "transfer-1"]"#,
        r#"["tr\u0061nsfer-1"]"#,
        r#"{"correlationStreamName":null}"#,
        r#"{"other":{"correlationStreamName":"transfer-1"}}"#,
    ] {
        write(&**store, "account-2", with_metadata(metadata)).await;
    }
    assert!(correlated(store, "account", "transfer").await.is_empty());
    assert_eq!(
        read(&**store, "account", CategoryRead::new()).await.len(),
        8
    );
}

pub(super) async fn all_messages_are_filtered_by_correlation(store: &Subject<impl MessageStore>) {
    answer(store, "account-1", "transfer-1").await;
    answer(store, "other-1", "transfer-2").await;
    answer(store, "other-2", "payment-1").await;
    let options = CategoryRead::new().correlation(category("transfer"));
    let found = read(&**store, "", options.clone()).await;
    assert_eq!(names(&found), ["account-1", "other-1"]);
    let second = options.position(found[1].global_position());
    assert_eq!(names(&read(&**store, "", second).await), ["other-1"]);
}

pub(super) async fn correlation_key_with_escapes_is_recognized(store: &Subject<impl MessageStore>) {
    let metadata = r#"{"correlation\u0053treamName":"tr\u0061nsfer-1"}"#;
    write(&**store, "account-1", with_metadata(metadata)).await;
    assert_eq!(
        correlated(store, "account", "transfer").await,
        ["account-1"]
    );
}

pub(super) async fn last_of_repeated_correlation_keys_counts(store: &Subject<impl MessageStore>) {
    let metadata = r#"{"correlationStreamName":"transfer-1","correlationStreamName":"payment-1"}"#;
    write(&**store, "account-1", with_metadata(metadata)).await;
    assert!(correlated(store, "account", "transfer").await.is_empty());
    assert_eq!(correlated(store, "account", "payment").await, ["account-1"]);
}
