use std::time::Duration;

use tokio::time::timeout;
use umadb_dcb::{DcbAppendCondition, DcbEventStoreAsync as _, DcbQuery, TrackingInfo};

use crate::events::{holds, known, made, none, tagged};
use crate::server::{Backend, Server};

pub(crate) async fn condition_counts_only_what_comes_after(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    client.append(vec![made(&["a"])], None, None).await.unwrap();
    for (tag, after, expected) in [
        ("a", None, false),
        ("a", Some(0), false),
        ("b", None, true),
        // The first event is known, the second has another tag: the third position.
        ("a", Some(1), true),
        ("a", Some(2), false),
        ("a", Some(3), true),
        // Beyond the head.
        ("a", Some(99), true),
    ] {
        let answer = client.append(vec![made(&[tag])], none(tag, after), None);
        assert_eq!(holds(&answer.await), expected, "{tag} after {after:?}");
    }
    let everything = Some(DcbAppendCondition::new(DcbQuery::new()));
    let answer = client.append(vec![made(&[])], everything, None).await;
    assert!(!holds(&answer));
    assert_eq!(client.append(vec![], None, None).await.unwrap(), 0);
    assert!(!holds(&client.append(vec![], none("a", None), None).await));
    assert_eq!(client.head().await.unwrap(), Some(5));
}

pub(crate) async fn retries_return_the_first_position(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let (first, free) = (vec![known(&["a"]), known(&["a"])], vec![known(&["b"])]);
    let append = |events: &Vec<_>, condition| client.append(events.clone(), condition, None);
    assert_eq!(append(&first, none("a", None)).await.unwrap(), 2);
    assert_eq!(append(&free, None).await.unwrap(), 3);
    // Later events change nothing.
    append(&vec![made(&["a"])], None).await.unwrap();
    assert_eq!(append(&first, none("a", None)).await.unwrap(), 2);
    assert_eq!(append(&free, None).await.unwrap(), 3);
    // Other events than the first matches.
    for events in [
        vec![known(&["a"])],
        vec![first[1].clone(), first[0].clone()],
        vec![first[0].clone(), made(&["a"])],
    ] {
        assert!(!holds(&append(&events, none("a", None)).await));
    }
    assert_eq!(client.head().await.unwrap(), Some(4));
}

/// A consumer that lost the answer to its append sends the same events with the same upstream position.
pub(crate) async fn retries_are_known_before_their_tracking(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let info = |position| {
        Some(TrackingInfo {
            source: "upstream".to_owned(),
            position,
        })
    };
    let (first, second) = (vec![known(&["a"])], vec![known(&["b"])]);
    for (events, tag, position, at) in [
        (&first, "a", 7, 1),
        (&second, "b", 8, 2),
        (&first, "a", 7, 1),
        (&second, "b", 8, 2),
    ] {
        let answer = client.append(events.clone(), none(tag, None), info(position));
        assert_eq!(answer.await.unwrap(), at);
    }
    // Other events don't pass.
    let other = client.append(vec![known(&["c"])], none("c", None), info(8));
    assert!(!holds(&other.await));
    assert_eq!(client.head().await.unwrap(), Some(2));
    let tracked = client.get_tracking_info("upstream").await.unwrap();
    assert_eq!(tracked, Some(8));
}

pub(crate) async fn cancelled_appends_can_be_repeated(backend: Backend) {
    const APPENDS: u64 = 50;
    let server = Server::start(backend);
    let client = server.client().await;
    for number in 0..APPENDS {
        let tag = format!("order:{number}");
        let events = vec![known(&[&tag])];
        let append = || client.append(events.clone(), none(&tag, None), None);
        // The call is dropped before it is sent, while the server works, or with the answer.
        let patience = Duration::from_millis(number % 5);
        let _ = timeout(patience, append()).await;
        append().await.unwrap();
        let stored = client.read_with_head(Some(tagged(&tag)), None, false, None);
        let (stored, _) = stored.await.unwrap();
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0].event.uuid, events[0].uuid);
    }
    assert_eq!(client.head().await.unwrap(), Some(APPENDS));
}
