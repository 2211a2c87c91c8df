use dcb_grpc::proto::AppendRequest;
use dcb_grpc::proto::error_response::ErrorType;

use crate::support::{Served, all, append, condition, error_type, event, tagged, with_id};

/// The position, or that the append was refused for its integrity.
async fn answer(served: &Served, request: AppendRequest) -> Option<u64> {
    match served.client().await.append(request).await {
        Ok(answer) => Some(answer.into_inner().position),
        Err(status) => {
            assert_eq!(error_type(&status), ErrorType::Integrity);
            None
        }
    }
}

pub(crate) async fn of_the_same_events_return_their_position(served: &Served) {
    let mut request = append([with_id(1), with_id(2)]);
    request.condition = condition(tagged("course:1"), None);
    assert_eq!(answer(served, request.clone()).await, Some(2));
    answer(served, append(event("Enrolled", &["course:1"]))).await;
    // Later matches change nothing.
    assert_eq!(answer(served, request.clone()).await, Some(2));
    // The tracked position is not looked at.
    request.tracking_info = Some(dcb_grpc::proto::TrackingInfo {
        source: "upstream".to_owned(),
        position: 1,
    });
    assert_eq!(answer(served, request.clone()).await, Some(2));
    assert_eq!(answer(served, request).await, Some(2));
}

pub(crate) async fn with_other_first_matches_fail(served: &Served) {
    assert_eq!(
        answer(served, append([with_id(1), with_id(2)])).await,
        Some(2)
    );
    let mut retry = append(with_id(2));
    retry.condition = condition(all(), None);
    // The first match is the other event.
    assert_eq!(answer(served, retry.clone()).await, None);
    retry.condition = condition(all(), Some(1));
    assert_eq!(answer(served, retry).await, Some(2));
    for events in [
        vec![with_id(2), with_id(1)],
        vec![with_id(1), with_id(2), with_id(3)],
        vec![with_id(1), event("Enrolled", &["course:1"])],
    ] {
        let mut retry = append(events);
        retry.condition = condition(tagged("course:1"), None);
        assert_eq!(answer(served, retry).await, None);
    }
}

pub(crate) async fn without_a_match_or_a_condition_return_the_first_position(served: &Served) {
    assert_eq!(answer(served, append(with_id(1))).await, Some(1));
    assert_eq!(answer(served, append(with_id(2))).await, Some(2));
    assert_eq!(answer(served, append(with_id(1))).await, Some(1));
    let mut retry = append(with_id(1));
    retry.condition = condition(tagged("course:2"), None);
    assert_eq!(answer(served, retry).await, Some(1));
}

pub(crate) async fn with_other_content_follow_the_condition(served: &Served) {
    assert_eq!(answer(served, append(with_id(1))).await, Some(1));
    let mut other = with_id(1);
    other.data = b"other".to_vec();
    assert_eq!(answer(served, append(other.clone())).await, None);
    let mut retry = append(other);
    retry.condition = condition(tagged("course:2"), None);
    assert_eq!(answer(served, retry.clone()).await, None);
    // Ids decide, as in UmaDB.
    retry.condition = condition(tagged("course:1"), None);
    assert_eq!(answer(served, retry).await, Some(1));
}
