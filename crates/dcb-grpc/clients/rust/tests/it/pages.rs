use umadb_client::AsyncUmaDbClient;
use umadb_dcb::DcbEventStoreAsync as _;

use crate::events::{made, positions, tagged};
use crate::server::{Backend, Server};

const EVENTS: u64 = 10_000;
/// The most that the store takes in one append.
const APPEND: u64 = 1_000;

/// Events at positions 1 to [`EVENTS`]. An even one has the tag `even`, an odd one `odd`.
async fn fill(client: &AsyncUmaDbClient) {
    for first in (1..=EVENTS).step_by(APPEND as usize) {
        let numbers = first..first + APPEND;
        let tag = |number: u64| {
            if number.is_multiple_of(2) {
                "even"
            } else {
                "odd"
            }
        };
        let events = numbers.map(|number| made(&[tag(number)])).collect();
        let last = client.append(events, None, None).await.unwrap();
        assert_eq!(last, first + APPEND - 1);
    }
}

pub(crate) async fn each_size_reads_everything_in_order(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    fill(&client).await;
    let all: Vec<u64> = (1..=EVENTS).collect();
    let (events, head) = client
        .read_with_head(None, None, false, None)
        .await
        .unwrap();
    assert_eq!((positions(&events), head), (all.clone(), Some(EVENTS)));
    for page in [100, 4_096, u32::MAX] {
        let client = server.client_by(page).await;
        let read = client.read_with_head(None, None, false, None).await;
        let (events, head) = read.unwrap();
        assert_eq!((positions(&events), head), (all.clone(), Some(EVENTS)));
    }

    // Page by page; the last is full, and no empty one follows.
    let client = server.client_by(500).await;
    let odd = client.read(Some(tagged("odd")), None, false, None).await;
    let mut odd = odd.unwrap();
    let mut seen = Vec::new();
    loop {
        let page = odd.next_batch().await.unwrap();
        assert_eq!(odd.head().await.unwrap(), Some(EVENTS));
        if page.is_empty() {
            break;
        }
        assert_eq!(page.len(), 500);
        seen.extend(positions(&page));
    }
    assert_eq!(seen, all.into_iter().step_by(2).collect::<Vec<_>>());
}

pub(crate) async fn limits_and_starts_in_both_directions(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client_by(2).await;
    let events = ["a", "b", "a", "b", "a", "b"].map(|tag| made(&[tag]));
    client.append(events.to_vec(), None, None).await.unwrap();
    let (forwards, backwards) = (false, true);
    for (tag, start, direction, limit, expected, expected_head) in [
        ("a", None, forwards, None, vec![1, 3, 5], Some(6)),
        ("a", None, backwards, None, vec![5, 3, 1], Some(6)),
        // The start is inclusive.
        ("a", Some(3), forwards, None, vec![3, 5], Some(6)),
        ("a", Some(3), backwards, None, vec![3, 1], Some(6)),
        ("a", Some(4), backwards, None, vec![3, 1], Some(6)),
        // Beyond the head.
        ("a", Some(7), forwards, None, vec![], Some(6)),
        ("a", Some(7), backwards, None, vec![5, 3, 1], Some(6)),
        ("a", Some(u64::MAX), forwards, None, vec![], Some(6)),
        ("a", Some(u64::MAX), backwards, None, vec![5, 3, 1], Some(6)),
        ("a", Some(0), forwards, None, vec![1, 3, 5], Some(6)),
        ("a", Some(0), backwards, None, vec![], Some(6)),
        // With a limit, the head is the position of the last event.
        ("a", None, forwards, Some(1), vec![1], Some(1)),
        ("a", None, forwards, Some(3), vec![1, 3, 5], Some(5)),
        ("a", None, forwards, Some(9), vec![1, 3, 5], Some(5)),
        ("a", Some(2), forwards, Some(1), vec![3], Some(3)),
        ("a", None, backwards, Some(2), vec![5, 3], Some(3)),
        ("a", None, forwards, Some(0), vec![], None),
        ("c", None, forwards, Some(3), vec![], None),
        ("c", None, forwards, None, vec![], Some(6)),
    ] {
        let read = client.read_with_head(Some(tagged(tag)), start, direction, limit);
        let (events, head) = read.await.unwrap();
        assert_eq!(
            (positions(&events), head),
            (expected, expected_head),
            "{tag} from {start:?}, backwards {direction}, limit {limit:?}"
        );
    }
}

pub(crate) async fn snapshot_is_that_of_the_first_page(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client_by(100).await;
    fill(&client).await;
    let mut pages = client.read(None, None, false, None).await.unwrap();
    let mut seen = positions(&pages.next_batch().await.unwrap());
    let writer = server.client().await;
    writer.append(vec![made(&[])], None, None).await.unwrap();
    loop {
        let page = pages.next_batch().await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(positions(&page));
    }
    assert_eq!(seen, (1..=EVENTS).collect::<Vec<_>>());
    assert_eq!(pages.head().await.unwrap(), Some(EVENTS));
    assert_eq!(writer.head().await.unwrap(), Some(EVENTS + 1));
}

pub(crate) async fn large_events_arrive(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    for _ in 0..3 {
        let large = vec![made(&[]).data(vec![b'x'; 900_000]); 4];
        client.append(large, None, None).await.unwrap();
    }
    let read = client.read_with_head(None, None, false, None).await;
    let (events, head) = read.unwrap();
    assert_eq!((positions(&events), head), ((1..=12).collect(), Some(12)));
    assert!(events.iter().all(|event| event.event.data.len() == 900_000));
    let mut subscription = client.subscribe(None, Some(1)).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 11 {
        seen.extend(positions(&subscription.next_batch().await.unwrap()));
    }
    assert_eq!(seen, (2..=12).collect::<Vec<_>>());
    // More than gRPC's 4 MiB in a request.
    let too_large = vec![made(&[]).data(vec![b'x'; 1_000_000]); 5];
    client.append(too_large, None, None).await.unwrap_err();
    assert_eq!(client.head().await.unwrap(), Some(12));
}
