//! The metrics of the README, by their names there.

use dcb_grpc::proto::{HeadRequest, ReadRequest};
use store_meter::testing::{Recording, documented};

use crate::support::{Log, Served, append, condition, event, tagged};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_records_what_the_readme_says() {
    let log = Log::memory().await;
    let (served, recording) = Recording::of(Served::new(log)).await;
    let mut client = served.client().await;
    let mut request = append([event("Made", &["a"]), event("Made", &["a"])]);
    request.condition = condition(tagged("a"), None);
    client.append(request.clone()).await.unwrap();
    client.append(request).await.unwrap_err();
    client.head(HeadRequest {}).await.unwrap();
    let read = client.read(ReadRequest::default()).await.unwrap();
    let mut pages = read.into_inner();
    pages.message().await.unwrap().unwrap();

    let recorded = recording.look();
    let readme = include_str!("../../README.md");
    // The store records too.
    let rows = recorded.rows(&[]).into_iter();
    let rows = rows
        .filter(|(name, ..)| name.starts_with("dcb_grpc"))
        .collect();
    assert_eq!(documented(readme, "dcb_grpc"), rows);
    assert_eq!(recorded.number("dcb_grpc_events_sent_total", None), 2.0);
    for (method, calls) in [
        ("Append", 2.0),
        ("Head", 1.0),
        ("Read", 1.0),
        ("Subscribe", 0.0),
    ] {
        let seconds = recorded.number("dcb_grpc_call_seconds", Some(("method", method)));
        assert_eq!(seconds, calls, "{method}");
    }
    drop((client, pages));
    served.stop().await;
}
