use super::Subject;
use super::fixture::{all, fill, position_at};
use message_store::{ListStreams, MessageStore, StoreInfo};

async fn list(store: &Subject<impl MessageStore>, list: ListStreams) -> Vec<String> {
    let streams = store.list_streams(list).await.unwrap();
    streams
        .into_iter()
        .map(|stream| stream.stream_name)
        .collect()
}

pub(super) async fn empty_store_lists_nothing(store: &Subject<impl MessageStore>) {
    assert!(list(store, ListStreams::new()).await.is_empty());
    assert!(store.list_categories().await.unwrap().is_empty());
    assert_eq!(store.info().await.unwrap(), StoreInfo::default());
}

pub(super) async fn streams_are_paged_by_name(store: &Subject<impl MessageStore>) {
    let names = ["B-1", "a-1", "a-10", "a-2", "a:x-1", "b-1", "é-1"];
    for (count, name) in (1..).zip(names) {
        fill(&**store, name, count).await;
    }
    let streams = store.list_streams(ListStreams::new()).await.unwrap();
    assert!(
        streams
            .iter()
            .map(|stream| stream.stream_name.as_str())
            .eq(names)
    );
    for (version, stream) in (0..).zip(&streams) {
        assert_eq!(stream.version, position_at(version));
    }
    let last = all(&**store).await.pop().unwrap();
    assert_eq!(streams.last().unwrap().last_activity, last.time());
    let mut paged: Vec<String> = Vec::new();
    loop {
        let mut page = ListStreams::new().limit(2);
        page.after = paged.last().cloned();
        let page = list(store, page).await;
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, names);
    assert!(list(store, ListStreams::new().limit(0)).await.is_empty());
}

pub(super) async fn prefix_is_not_pattern(store: &Subject<impl MessageStore>) {
    for name in ["a%-1", "a_-1", "ab-1", "ab-2", "abc-1", "b-1"] {
        fill(&**store, name, 1).await;
    }
    let prefixed = |prefix: &str| ListStreams::new().prefix(prefix);
    assert_eq!(list(store, prefixed("a%")).await, ["a%-1"]);
    assert_eq!(list(store, prefixed("a_")).await, ["a_-1"]);
    assert_eq!(list(store, prefixed("ab-")).await, ["ab-1", "ab-2"]);
    assert_eq!(
        list(store, prefixed("ab").after("ab-1")).await,
        ["ab-2", "abc-1"]
    );
    assert_eq!(
        list(store, prefixed("ab").after("a")).await,
        ["ab-1", "ab-2", "abc-1"]
    );
    assert!(list(store, prefixed("ab").after("b")).await.is_empty());
    assert!(list(store, prefixed("A")).await.is_empty());
    // No name contains NUL, which sorts before every character of a name.
    assert!(list(store, prefixed("ab\0")).await.is_empty());
    assert_eq!(
        list(store, prefixed("ab").after("ab-1\0")).await,
        ["ab-2", "abc-1"]
    );
    assert_eq!(
        list(store, prefixed("ab-").after("ab\0x")).await,
        ["ab-1", "ab-2"]
    );
}

pub(super) async fn categories_are_counted(store: &Subject<impl MessageStore>) {
    fill(&**store, "b-1", 2).await;
    fill(&**store, "b-2", 3).await;
    fill(&**store, "a:x-1", 1).await;
    let categories = store.list_categories().await.unwrap();
    let counts: Vec<_> = categories
        .iter()
        .map(|info| {
            (
                info.category.as_str(),
                info.stream_count,
                info.message_count,
            )
        })
        .collect();
    assert_eq!(counts, [("a:x", 1, 1), ("b", 2, 5)]);
}

pub(super) async fn store_is_counted(store: &Subject<impl MessageStore>) {
    fill(&**store, "b-1", 2).await;
    fill(&**store, "a-1", 3).await;
    let info = store.info().await.unwrap();
    assert_eq!((info.stream_count, info.message_count), (2, 5));
    let last = all(&**store).await.pop().unwrap();
    assert_eq!(info.last_activity, Some(last.time()));
}
