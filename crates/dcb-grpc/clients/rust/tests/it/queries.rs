use umadb_dcb::{DcbAppendCondition, DcbEventStoreAsync as _, DcbQuery, DcbQueryItem};

use crate::events::{holds, made, positions};
use crate::server::{Backend, Server};

fn item(types: &[&str], tags: &[&str]) -> DcbQueryItem {
    DcbQueryItem::new()
        .types(types.iter().copied())
        .tags(tags.iter().copied())
}

/// Reads, subscriptions and conditions agree about what a query matches.
pub(crate) async fn items_types_and_tags_match(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let events = [
        ("Opened", &["a"] as &[_]),
        ("Closed", &["a", "b"]),
        ("Opened", &["b"]),
        ("Closed", &[]),
    ];
    let events = events.map(|(of_type, tags)| made(tags).event_type(of_type));
    client.append(events.to_vec(), None, None).await.unwrap();
    for (items, expected) in [
        (vec![], vec![1, 2, 3, 4]),
        // Any of the types, and all of the tags.
        (vec![item(&["Opened"], &[])], vec![1, 3]),
        (vec![item(&["Opened", "Closed"], &["a"])], vec![1, 2]),
        (vec![item(&["Closed"], &["a"])], vec![2]),
        (vec![item(&[], &["a", "b"])], vec![2]),
        (vec![item(&[], &["b", "c"])], vec![]),
        // Any of the items.
        (
            vec![item(&["Closed"], &["a"]), item(&["Opened"], &["b"])],
            vec![2, 3],
        ),
        (vec![item(&[], &["c"]), item(&["Closed"], &[])], vec![2, 4]),
    ] {
        let query = DcbQuery::new().items(items);
        let read = client.read_with_head(Some(query.clone()), None, false, None);
        let (read, _) = read.await.unwrap();
        assert_eq!(positions(&read), expected, "{query:?}");
        let condition = Some(DcbAppendCondition::new(query.clone()));
        // Without events, an append only checks its condition.
        let answer = client.append(vec![], condition, None).await;
        assert_eq!(holds(&answer), expected.is_empty(), "{query:?}");
        if !expected.is_empty() {
            let mut subscription = client.subscribe(Some(query.clone()), None).await.unwrap();
            let mut seen = Vec::new();
            while seen.len() < expected.len() {
                seen.extend(positions(&subscription.next_batch().await.unwrap()));
            }
            assert_eq!(seen, expected, "{query:?}");
        }
    }
}
