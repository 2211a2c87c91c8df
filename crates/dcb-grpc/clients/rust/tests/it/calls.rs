use umadb_client::{ServingStatus, UmaDbClient};
use umadb_dcb::{
    DcbError, DcbEvent, DcbEventStoreAsync as _, DcbEventStoreSync as _, DcbSequencedEvent,
    TrackingInfo,
};

use crate::events::{holds, known, made, positions, tagged};
use crate::server::{Backend, Server};

/// Two events that use every field.
fn sent() -> [DcbEvent; 2] {
    let bytes: Vec<u8> = (0..=255).collect();
    [known(&["b", "a", "b"]), known(&["b"]).data(bytes)]
}

fn assert_same(stored: &[DcbSequencedEvent], sent: &[DcbEvent]) {
    let parts = |event: &DcbEvent| {
        let DcbEvent {
            event_type,
            tags,
            data,
            uuid,
            metadata,
        } = event.clone();
        (event_type, tags, data, uuid, metadata)
    };
    let stored: Vec<_> = stored.iter().map(|event| parts(&event.event)).collect();
    assert_eq!(stored, sent.iter().map(parts).collect::<Vec<_>>());
}

pub(crate) async fn each_call_answers(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    assert_eq!(client.head().await.unwrap(), None);
    let nothing = client.read_with_head(None, None, false, None).await;
    let (events, head) = nothing.unwrap();
    assert_eq!((events.len(), head), (0, None));

    let sent = sent();
    assert_eq!(client.append(sent.to_vec(), None, None).await.unwrap(), 2);
    assert_eq!(client.head().await.unwrap(), Some(2));
    let all = client.read_with_head(None, None, false, None).await;
    let (events, head) = all.unwrap();
    assert_same(&events, &sent);
    assert_eq!((positions(&events), head), (vec![1, 2], Some(2)));
    let of_a = client.read_with_head(Some(tagged("a")), None, false, None);
    let (events, head) = of_a.await.unwrap();
    assert_eq!((positions(&events), head), (vec![1], Some(2)));

    for service in ["", "umadb.v1.DCB"] {
        let health = client.check_health(service).await.unwrap();
        assert_eq!(health, ServingStatus::Serving);
        let mut watch = client.watch_health(service).await.unwrap();
        assert_eq!(watch.next().await.unwrap(), Some(ServingStatus::Serving));
    }
    client.check_health("another").await.unwrap_err();
}

pub(crate) async fn blocking_client_gets_the_same_answers(backend: Backend) {
    let server = Server::start(backend);
    let url = server.url();
    let calls = move || {
        let client = UmaDbClient::new(url).connect().unwrap();
        let sent = sent();
        assert_eq!(client.append(sent.to_vec(), None, None).unwrap(), 2);
        assert_eq!(client.head().unwrap(), Some(2));
        let (events, head) = client.read_with_head(None, None, true, None).unwrap();
        assert_eq!((positions(&events), head), (vec![2, 1], Some(2)));
        let mut subscription = client.subscribe(None, Some(1)).unwrap();
        assert_same(&[subscription.next().unwrap().unwrap()], &sent[1..]);
        assert_eq!(client.get_tracking_info("upstream").unwrap(), None);
        assert_eq!(client.check_health("").unwrap(), ServingStatus::Serving);
    };
    // On another thread, because the client brings its own runtime.
    std::thread::spawn(calls).join().unwrap();
}

pub(crate) async fn tracked_positions_increase(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let info = |position| TrackingInfo {
        source: "upstream".to_owned(),
        position,
    };
    let tracked = async || client.get_tracking_info("upstream").await.unwrap();
    assert_eq!(tracked().await, None);
    for (position, increases) in [(7, true), (7, false), (6, false), (8, true)] {
        let answer = client.append(vec![made(&[])], None, Some(info(position)));
        assert_eq!(holds(&answer.await), increases, "{position}");
    }
    assert_eq!(tracked().await, Some(8));
    assert_eq!(client.get_tracking_info("another").await.unwrap(), None);
    let (events, _) = client
        .read_with_head(None, None, false, None)
        .await
        .unwrap();
    let infos: Vec<_> = events
        .into_iter()
        .map(|event| event.tracking_info)
        .collect();
    assert_eq!(infos, [Some(info(7)), Some(info(8))]);
}

pub(crate) async fn invalid_values_are_refused(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let long_source = TrackingInfo {
        source: "x".repeat(256),
        position: 1,
    };
    let mut twice = made(&[]);
    twice.metadata.extend(twice.metadata.clone());
    for (event, tracking) in [
        (made(&[]).event_type(""), None),
        (made(&[""]), None),
        (twice, None),
        (made(&[]), Some(long_source)),
    ] {
        let refused = client.append(vec![event], None, tracking).await;
        assert!(
            matches!(refused, Err(DcbError::InvalidArgument(_))),
            "{refused:?}"
        );
    }
    assert_eq!(client.head().await.unwrap(), None);
}
