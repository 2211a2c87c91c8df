use dcb_grpc::proto::error_response::ErrorType;
use dcb_grpc::proto::{AppendCondition, HeadRequest, ReadRequest, TrackingInfo, TrackingRequest};
use tonic::Code;

use crate::support::{Served, all, append, condition, error_type, event, tagged, with_id};

pub(crate) async fn events_come_back_as_they_were(served: &Served) {
    let mut client = served.client().await;
    let head = client.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, None);

    // As they were sent, not as a set.
    let mut second = event("Graded", &["student:2", "course:1", "student:2"]);
    second.data = vec![0, 255, 10];
    second.metadata.clear();
    let sent = [with_id(7), second];
    let answer = client.append(append(sent.clone())).await.unwrap();
    assert_eq!(answer.into_inner().position, 2);
    let head = client.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(2));

    let read = client.read(ReadRequest::default()).await.unwrap();
    let page = read.into_inner().message().await.unwrap().unwrap();
    let [first, second] = &page.events[..] else {
        panic!("{page:?}");
    };
    assert_eq!((first.position, second.position), (1, 2));
    assert_eq!(first.event.as_ref(), Some(&sent[0]));
    let mut second = second.event.clone().unwrap();
    // The server gave it an id.
    assert!(uuid::Uuid::try_parse(&second.uuid).is_ok());
    second.uuid.clear();
    assert_eq!(second, sent[1]);
}

pub(crate) async fn condition_counts_only_what_comes_after(served: &Served) {
    let mut client = served.client().await;
    let new = || append(event("Enrolled", &["course:1"]));
    client.append(new()).await.unwrap();
    for (after, tag, holds) in [
        (None, "course:1", false),
        (Some(0), "course:1", false),
        (None, "course:2", true),
        // The event at `after` itself is known to the sender, here at 2 and at 3.
        (Some(1), "course:1", false),
        (Some(2), "course:1", true),
        (Some(2), "course:1", false),
        (Some(3), "course:1", true),
    ] {
        let mut request = new();
        request.condition = condition(tagged(tag), after);
        let answer = client.append(request).await;
        assert_eq!(answer.is_ok(), holds, "after {after:?}, {tag}: {answer:?}");
        if let Err(status) = answer {
            assert_eq!(status.code(), Code::FailedPrecondition);
            assert_eq!(error_type(&status), ErrorType::Integrity);
        }
    }
}

pub(crate) async fn condition_without_query_matches_everything(served: &Served) {
    let mut client = served.client().await;
    let mut request = append(event("Opened", &[]));
    request.condition = Some(AppendCondition::default());
    client.append(request.clone()).await.unwrap();
    let status = client.append(request).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
}

pub(crate) async fn after_beyond_the_head_holds(served: &Served) {
    let mut client = served.client().await;
    client
        .append(append(event("Enrolled", &["course:1"])))
        .await
        .unwrap();
    let mut request = append(event("Enrolled", &["course:1"]));
    request.condition = condition(tagged("course:1"), Some(1_000));
    assert_eq!(
        client
            .append(request.clone())
            .await
            .unwrap()
            .into_inner()
            .position,
        2
    );
    request.condition = condition(all(), Some(u64::MAX - 1));
    assert_eq!(
        client.append(request).await.unwrap().into_inner().position,
        3
    );

    // Writers that append at the same time don't make it fail: their events come before `after` too.
    let writers = (0..16).map(|_| {
        let mut client = client.clone();
        tokio::spawn(async move {
            let mut request = append(event("Enrolled", &["course:1"]));
            request.condition = condition(tagged("course:1"), Some(1_000));
            client.append(request).await.unwrap();
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

pub(crate) async fn without_events_the_position_is_0(served: &Served) {
    let mut client = served.client().await;
    assert_eq!(
        client
            .append(append([]))
            .await
            .unwrap()
            .into_inner()
            .position,
        0
    );
    client.append(append(with_id(1))).await.unwrap();
    for (after, holds) in [(None, false), (Some(1), true), (Some(9), true)] {
        let mut request = append([]);
        request.condition = condition(tagged("course:1"), after);
        let answer = client.append(request).await;
        assert_eq!(answer.is_ok(), holds, "{answer:?}");
    }
    let head = client.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(1));
}

fn tracked(position: u64) -> Option<TrackingInfo> {
    let source = "upstream".to_owned();
    Some(TrackingInfo { source, position })
}

pub(crate) async fn tracked_positions_must_increase(served: &Served) {
    let mut client = served.client().await;
    let ask = |source: &str| TrackingRequest {
        source: source.to_owned(),
    };
    let nothing = client.get_tracking_info(ask("upstream")).await.unwrap();
    assert_eq!(nothing.into_inner().position, None);
    for (position, increases) in [(5, true), (5, false), (4, false), (6, true)] {
        let mut request = append(event("Copied", &[]));
        request.tracking_info = tracked(position);
        let answer = client.append(request).await;
        assert_eq!(answer.is_ok(), increases, "{position}: {answer:?}");
        if let Err(status) = answer {
            assert_eq!(error_type(&status), ErrorType::Integrity);
        }
    }
    let last = client.get_tracking_info(ask("upstream")).await.unwrap();
    assert_eq!(last.into_inner().position, Some(6));
    // No append has these names, and some are not allowed.
    for other in ["another", "", "a\0b", &"x".repeat(1 << 20)] {
        let other = client.get_tracking_info(ask(other)).await.unwrap();
        assert_eq!(other.into_inner().position, None);
    }
}

pub(crate) async fn tracking_comes_back_on_every_event(served: &Served) {
    let mut client = served.client().await;
    let sent = [event("Copied", &[]), event("Copied", &[])];
    let mut request = append(sent.clone());
    request.tracking_info = tracked(9);
    client.append(request).await.unwrap();
    client.append(append(event("Made", &[]))).await.unwrap();
    let read = client.read(ReadRequest::default()).await.unwrap();
    let page = read.into_inner().message().await.unwrap().unwrap();
    let infos: Vec<_> = page
        .events
        .iter()
        .map(|event| event.tracking_info.clone())
        .collect();
    assert_eq!(infos, [tracked(9), tracked(9), None]);
    // The metadata is the sender's.
    let first = page.events[0].event.as_ref().unwrap();
    assert_eq!(first.metadata, sent[0].metadata);
}

pub(crate) async fn invalid_values_are_named(served: &Served) {
    let mut client = served.client().await;
    let mut twice = event("Made", &[]);
    twice.metadata.extend(twice.metadata.clone());
    let reserved = |key: &str| {
        let mut event = event("Made", &[]);
        event.metadata[0].key = key.to_owned();
        append(event)
    };
    let source = |source: String| {
        let mut request = append(event("Made", &[]));
        request.tracking_info = Some(TrackingInfo {
            source,
            position: 1,
        });
        request
    };
    let mut greatest = append(event("Made", &[]));
    greatest.condition = condition(all(), Some(u64::MAX));
    for (request, word) in [
        (append(event("", &[])), "type"),
        (append(event("Made", &[""])), "tags"),
        (append(twice), "metadata"),
        (reserved("dcb-grpc.tracking"), "metadata"),
        (reserved("dcb-grpc.tags"), "metadata"),
        // 128 characters, 256 bytes.
        (source("é".repeat(128)), "255"),
        (greatest, "after"),
    ] {
        let status = client.append(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert_eq!(error_type(&status), ErrorType::InvalidArgument);
        assert!(status.message().contains(word), "{status:?}");
    }
    let mut nil = event("Made", &[]);
    nil.uuid = uuid::Uuid::nil().to_string();
    client.append(append([nil.clone(), nil])).await.unwrap();
    let mut malformed = event("Made", &[]);
    malformed.uuid = "17".to_owned();
    let status = client.append(append(malformed)).await.unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
    assert_eq!(error_type(&status), ErrorType::Corruption);
    let head = client.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(2));
}

pub(crate) async fn racing_writers_have_one_winner_per_boundary(served: &Served) {
    const BOUNDARIES: u64 = 8;
    const WRITERS: usize = 16;
    let client = served.client().await;
    let writers = (0..WRITERS).map(|_| {
        let mut client = client.clone();
        tokio::spawn(async move {
            let mut won = Vec::new();
            for boundary in 0..BOUNDARIES {
                let tag = format!("seat:{boundary}");
                let mut request = append(event("Taken", &[&tag]));
                request.condition = condition(tagged(&tag), None);
                match client.append(request).await {
                    Ok(answer) => won.push((tag, answer.into_inner().position)),
                    Err(status) => assert_eq!(status.code(), Code::FailedPrecondition),
                }
            }
            won
        })
    });
    let mut won = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        won.extend(writer.await.unwrap());
    }
    won.sort_by_key(|(_, position)| *position);
    let mut client = served.client().await;
    let read = client.read(ReadRequest::default()).await.unwrap();
    let page = read.into_inner().message().await.unwrap().unwrap();
    let stored = page.events.into_iter();
    let stored = stored.map(|stored| (stored.event.unwrap().tags.remove(0), stored.position));
    assert_eq!(stored.collect::<Vec<_>>(), won);
    assert_eq!(won.len() as u64, BOUNDARIES);
}
