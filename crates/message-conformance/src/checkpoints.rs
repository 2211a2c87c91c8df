use conformance_suite::assert_refused;
use message_store::{Bookmark, Checkpoint, Error, MessageStore};
use uuid::Uuid;

use super::Subject;
use super::fixture::global;

fn at(position: u64) -> Bookmark {
    global(position).into()
}

fn bookmark(position: u64, id: u128) -> Bookmark {
    Bookmark::new(global(position), Uuid::from_u128(id))
}

pub(super) async fn new_consumer_has_no_checkpoint(store: &Subject<impl MessageStore>) {
    assert_eq!(store.checkpoint("mailer").await.unwrap(), None);
    assert_eq!(store.all_checkpoints().await.unwrap(), []);
}

pub(super) async fn each_consumer_has_its_own_checkpoint(store: &Subject<impl MessageStore>) {
    let names = ["mailer", "Mailer", "mailer-2", "'; --", "é😀"];
    for (position, name) in (1..).zip(names) {
        let saved = store.save_checkpoint(name, global(position)).await;
        assert_eq!(saved.unwrap(), at(position));
    }
    for (position, name) in (1..).zip(names) {
        let saved = store.checkpoint(name).await.unwrap();
        assert_eq!(saved, Some(at(position)), "{name}");
    }
    let mut sorted = names;
    sorted.sort_unstable();
    let all = store.all_checkpoints().await.unwrap();
    assert!(all.iter().map(|saved| saved.consumer.as_str()).eq(sorted));
    for saved in all {
        let handled = store.checkpoint(&saved.consumer).await.unwrap();
        assert_eq!(handled, Some(saved.handled), "{}", saved.consumer);
    }
}

pub(super) async fn checkpoint_only_increases(store: &Subject<impl MessageStore>) {
    for (given, saved) in [(5, 5), (9, 9), (7, 9), (10, 10)] {
        let answer = store.save_checkpoint("mailer", global(given)).await;
        assert_eq!(answer.unwrap(), at(saved));
        assert_eq!(store.checkpoint("mailer").await.unwrap(), Some(at(saved)));
    }
}

/// A position alone never takes the place of a bookmark at that position.
pub(super) async fn checkpoint_keeps_message_id(store: &Subject<impl MessageStore>) {
    let steps: [(Bookmark, Bookmark); 6] = [
        (at(5), at(5)),
        (bookmark(5, 1), bookmark(5, 1)),
        (at(5), bookmark(5, 1)),
        (bookmark(4, 2), bookmark(5, 1)),
        (bookmark(6, 3), bookmark(6, 3)),
        (at(7), at(7)),
    ];
    for (given, saved) in steps {
        let answer = store.save_checkpoint("mailer", given).await.unwrap();
        assert_eq!(answer, saved, "{given}");
        assert_eq!(store.checkpoint("mailer").await.unwrap(), Some(saved));
        let all = store.all_checkpoints().await.unwrap();
        assert_eq!(
            all,
            [Checkpoint {
                consumer: "mailer".to_owned(),
                handled: saved
            }]
        );
    }
}

pub(super) async fn deleted_checkpoint_begins_again(store: &Subject<impl MessageStore>) {
    store.save_checkpoint("mailer", global(9)).await.unwrap();
    assert!(store.delete_checkpoint("mailer").await.unwrap());
    assert!(!store.delete_checkpoint("mailer").await.unwrap());
    assert_eq!(store.checkpoint("mailer").await.unwrap(), None);
    let saved = store.save_checkpoint("mailer", global(1)).await;
    assert_eq!(saved.unwrap(), at(1));
}

pub(super) async fn invalid_consumer_name_is_refused(store: &Subject<impl MessageStore>) {
    let long = "x".repeat(10_000);
    for name in ["", "a\0b", long.as_str()] {
        for refused in [
            store.checkpoint(name).await.err(),
            store.save_checkpoint(name, global(1)).await.err(),
            store.delete_checkpoint(name).await.err(),
        ] {
            let answer: Result<(), Error> = refused.map_or(Ok(()), Err);
            assert_refused!(answer, Error::Invalid { field, .. } if field == "consumer");
        }
    }
}
