//! An append may record the upstream position that it was derived from.

use std::sync::Arc;

use conformance_suite::{assert_refused, at_once};
use dcb_core::{Append, AppendCondition, Appended, Error, Event, EventStore, Tracking};

use super::CALLERS;
use super::fixture::{head, tag, tagged};

async fn track(
    store: &impl EventStore,
    event: Event,
    source: &str,
    position: u64,
) -> Result<Appended, Error> {
    let tracking = Tracking::new(source, position).unwrap();
    store.submit(Append::new(event).tracking(tracking)).await
}

pub(super) async fn source_without_tracking_has_no_position(store: &impl EventStore) {
    assert_eq!(store.tracked("upstream").await.unwrap(), None);
    assert!(store.all_tracked().await.unwrap().is_empty());
    store.append(tagged(&[])).await.unwrap();
    assert_eq!(store.tracked("upstream").await.unwrap(), None);
}

pub(super) async fn tracking_is_stored_with_its_append(store: &impl EventStore) {
    for position in [3, 4, 10] {
        track(store, tagged(&[]), "upstream", position)
            .await
            .unwrap();
        assert_eq!(store.tracked("upstream").await.unwrap(), Some(position));
    }
    assert_eq!(head(store).await, 3);
}

pub(super) async fn tracking_must_strictly_increase(store: &impl EventStore) {
    track(store, tagged(&[]), "upstream", 5).await.unwrap();
    for position in [5, 4, 0] {
        assert_refused!(
            track(store, tagged(&[]), "upstream", position).await,
            Error::AlreadyTracked { origin, tracked: 5 } if origin == "upstream"
        );
    }
    assert_eq!(
        (head(store).await, store.tracked("upstream").await.unwrap()),
        (1, Some(5))
    );
    track(store, tagged(&[]), "upstream", 6).await.unwrap();
}

pub(super) async fn sources_are_tracked_independently(store: &impl EventStore) {
    let sources = [
        "upstream",
        "Upstream",
        "up stream",
        r#"a"b\c{,}'%"#,
        "日本語\n",
    ];
    for (index, source) in sources.iter().enumerate() {
        track(store, tagged(&[]), source, 10 - index as u64)
            .await
            .unwrap();
    }
    for (index, source) in sources.iter().enumerate() {
        assert_eq!(
            store.tracked(source).await.unwrap(),
            Some(10 - index as u64),
            "{source:?}"
        );
    }
    assert_eq!(store.tracked("up").await.unwrap(), None);
    let all = store.all_tracked().await.unwrap();
    let all: Vec<_> = all
        .iter()
        .map(|one| (one.source(), one.position()))
        .collect();
    let mut expected: Vec<_> = sources.into_iter().zip((0..=10).rev()).collect();
    expected.sort_unstable();
    assert_eq!(all, expected);
}

pub(super) async fn refused_append_tracks_nothing(store: &impl EventStore) {
    track(store, tagged(&["a"]), "upstream", 1).await.unwrap();
    let append = Append::new(tagged(&[])).tracking(Tracking::new("upstream", 2).unwrap());
    let conflicting = append.condition(AppendCondition::fail_if(tag("a")));
    assert_refused!(store.submit(conflicting).await, Error::Conflict { .. });
    assert_eq!(store.tracked("upstream").await.unwrap(), Some(1));
}

pub(super) async fn smallest_and_largest_tracking_are_accepted(store: &impl EventStore) {
    let longest = "語".repeat(Tracking::MAX_CHARS);
    for position in [0, 1, i64::MAX as u64] {
        track(store, tagged(&[]), &longest, position).await.unwrap();
        assert_eq!(store.tracked(&longest).await.unwrap(), Some(position));
    }
}

pub(super) async fn one_of_many_callers_tracks_a_position(store: &Arc<impl EventStore + 'static>) {
    for callers in CALLERS {
        let source = format!("upstream of {callers}");
        for position in 0..3 {
            let answers = at_once(store, callers, |store, _| {
                let source = source.clone();
                async move { track(&*store, tagged(&[&source]), &source, position).await }
            });
            let (processed, skipped): (Vec<_>, Vec<_>) =
                answers.await.into_iter().partition(Result::is_ok);
            assert_eq!(processed.len(), 1, "of {callers} callers");
            for answer in skipped {
                assert_refused!(
                    answer,
                    Error::AlreadyTracked { tracked, .. } if *tracked == position
                );
            }
        }
        assert_eq!(store.count(&tag(&source)).await.unwrap(), 3);
    }
}
