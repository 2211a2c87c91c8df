use dcb_grpc::proto::{ReadRequest, ReadResponse};
use prost::Message as _;

use crate::support::{Served, append, event, query, tagged};

async fn read(served: &Served, request: ReadRequest) -> Vec<ReadResponse> {
    let mut pages = served
        .client()
        .await
        .read(request)
        .await
        .unwrap()
        .into_inner();
    let mut read = Vec::new();
    while let Some(page) = pages.message().await.unwrap() {
        read.push(page);
    }
    read
}

fn positions(pages: &[ReadResponse]) -> Vec<u64> {
    let events = pages.iter().flat_map(|page| &page.events);
    events.map(|event| event.position).collect()
}

fn shape(pages: &[ReadResponse]) -> Vec<(usize, Option<u64>)> {
    pages
        .iter()
        .map(|page| (page.events.len(), page.head))
        .collect()
}

/// Events at positions 1 to `count`; even ones have the tag `even`.
async fn fill(served: &Served, count: u64) {
    let events: Vec<_> = (1..=count)
        .map(|position| match position % 2 {
            0 => event("Counted", &["even"]),
            _ => event("Counted", &["odd"]),
        })
        .collect();
    let appended = served.client().await.append(append(events)).await.unwrap();
    assert_eq!(appended.into_inner().position, count);
}

pub(crate) async fn matches_by_type_and_tags(served: &Served) {
    let events = [event("A", &["x", "y"]), event("B", &["x"]), event("A", &[])];
    served.client().await.append(append(events)).await.unwrap();
    let mut either = query(&["B"], &[]);
    either.items.extend(tagged("y").items);
    let mut with_any = query(&["B"], &[]);
    with_any.items.extend(query(&[], &[]).items);
    for (query, expected) in [
        (None, vec![1, 2, 3]),
        (Some(crate::support::all()), vec![1, 2, 3]),
        (Some(query(&["A"], &[])), vec![1, 3]),
        (Some(query(&["A", "B"], &["x"])), vec![1, 2]),
        (Some(query(&[], &["x", "y"])), vec![1]),
        (Some(either), vec![1, 2]),
        (Some(with_any), vec![1, 2, 3]),
        (Some(tagged("z")), vec![]),
    ] {
        let request = ReadRequest {
            query: query.clone(),
            ..ReadRequest::default()
        };
        assert_eq!(
            positions(&read(served, request).await),
            expected,
            "{query:?}"
        );
    }
}

pub(crate) async fn pages_have_the_head_of_the_snapshot(served: &Served) {
    let empty = read(served, ReadRequest::default()).await;
    assert_eq!(shape(&empty), [(0, None)]);
    fill(served, 10).await;
    let pages = |batch_size| ReadRequest {
        query: Some(tagged("even")),
        batch_size: Some(batch_size),
        ..ReadRequest::default()
    };
    let read_pages = read(served, pages(2)).await;
    assert_eq!(
        shape(&read_pages),
        [(2, Some(10)), (2, Some(10)), (1, Some(10))]
    );
    assert_eq!(positions(&read_pages), [2, 4, 6, 8, 10]);
    // No empty page follows a last one that is full.
    assert_eq!(shape(&read(served, pages(5)).await), [(5, Some(10))]);
    // 0 means 1.
    assert_eq!(read(served, pages(0)).await.len(), 5);
    let nothing = ReadRequest {
        query: Some(tagged("none")),
        ..ReadRequest::default()
    };
    assert_eq!(shape(&read(served, nothing).await), [(0, Some(10))]);
}

pub(crate) async fn limited_pages_have_the_position_of_their_last_event(served: &Served) {
    fill(served, 10).await;
    let limited = |limit, tag: &str| ReadRequest {
        query: Some(tagged(tag)),
        limit: Some(limit),
        batch_size: Some(2),
        ..ReadRequest::default()
    };
    assert_eq!(
        shape(&read(served, limited(3, "even")).await),
        [(2, Some(4)), (1, Some(6))]
    );
    assert_eq!(shape(&read(served, limited(9, "none")).await), [(0, None)]);
    assert!(read(served, limited(0, "even")).await.is_empty());
}

pub(crate) async fn starts_at_both_ends(served: &Served) {
    fill(served, 3).await;
    let (forwards, backwards) = (false, true);
    for (backwards, start, expected) in [
        (forwards, None, vec![1, 2, 3]),
        (forwards, Some(0), vec![1, 2, 3]),
        (forwards, Some(2), vec![2, 3]),
        (forwards, Some(4), vec![]),
        (forwards, Some(u64::MAX), vec![]),
        (backwards, None, vec![3, 2, 1]),
        (backwards, Some(2), vec![2, 1]),
        (backwards, Some(4), vec![3, 2, 1]),
        (backwards, Some(u64::MAX), vec![3, 2, 1]),
        (backwards, Some(0), vec![]),
    ] {
        let request = ReadRequest {
            start,
            backwards: Some(backwards),
            batch_size: Some(2),
            ..ReadRequest::default()
        };
        let pages = read(served, request).await;
        assert_eq!(
            positions(&pages),
            expected,
            "from {start:?}, backwards {backwards}"
        );
        assert!(pages.iter().all(|page| page.head == Some(3)), "{pages:?}");
    }
}

pub(crate) async fn pieces_before_the_last_have_no_head(served: &Served) {
    let mut client = served.client().await;
    let mut large = event("Large", &[]);
    large.data = vec![b'x'; 900_000];
    for _ in 0..4 {
        client
            .append(append([large.clone(), large.clone(), large.clone()]))
            .await
            .unwrap();
    }
    let request = ReadRequest {
        batch_size: Some(6),
        ..ReadRequest::default()
    };
    let pieces = read(served, request).await;
    assert_eq!(positions(&pieces), (1..=12).collect::<Vec<_>>());
    let mut in_page = 0;
    for piece in &pieces {
        in_page += piece.events.len();
        let expected = in_page.is_multiple_of(6).then_some(12);
        assert_eq!(piece.head, expected, "after {in_page} events");
    }
}

pub(crate) async fn pieces_have_at_most_256_kib(served: &Served) {
    let mut client = served.client().await;
    let mut made = event("Made", &[]);
    made.data = vec![0; 4_000];
    for _ in 0..10 {
        let events = append(vec![made.clone(); 100]);
        client.append(events).await.unwrap();
    }
    let pieces = read(served, ReadRequest::default()).await;
    assert_eq!(positions(&pieces), (1..=1_000).collect::<Vec<_>>());
    // The head of the last one comes on top.
    assert!(
        pieces
            .iter()
            .all(|piece| piece.encoded_len() < (256 << 10) + 16)
    );
    // Nor are they smaller than they have to be.
    assert!(pieces.len() <= 17, "{} pieces", pieces.len());
}

pub(crate) async fn snapshot_is_that_of_the_first_page(served: &Served) {
    const EVENTS: u64 = 900;
    fill(served, EVENTS).await;
    let request = ReadRequest {
        batch_size: Some(1),
        ..ReadRequest::default()
    };
    let pages = served.client().await.read(request).await.unwrap();
    let mut pages = pages.into_inner();
    let mut last = pages.message().await.unwrap().unwrap();
    served
        .client()
        .await
        .append(append(event("Later", &[])))
        .await
        .unwrap();
    let mut count = 1;
    while let Some(page) = pages.message().await.unwrap() {
        (last, count) = (page, count + 1);
    }
    assert_eq!((count, last.head), (EVENTS, Some(EVENTS)));
}
