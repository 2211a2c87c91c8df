use super::Subject;
use super::fixture::{assert_refused, global};
use crate::{Error, MessageStore};

pub(super) async fn new_consumer_has_no_checkpoint(store: &Subject<impl MessageStore>) {
    assert_eq!(store.checkpoint("mailer").await.unwrap(), None);
}

pub(super) async fn each_consumer_has_its_own_checkpoint(store: &Subject<impl MessageStore>) {
    let names = ["mailer", "Mailer", "mailer-2", "'; --", "é😀"];
    for (position, name) in (1..).zip(names) {
        let saved = store.save_checkpoint(name, global(position)).await;
        assert_eq!(saved.unwrap(), global(position));
    }
    for (position, name) in (1..).zip(names) {
        let saved = store.checkpoint(name).await.unwrap();
        assert_eq!(saved, Some(global(position)), "{name}");
    }
}

pub(super) async fn checkpoint_only_increases(store: &Subject<impl MessageStore>) {
    for (given, saved) in [(5, 5), (9, 9), (7, 9), (10, 10)] {
        let answer = store.save_checkpoint("mailer", global(given)).await;
        assert_eq!(answer.unwrap(), global(saved));
        assert_eq!(
            store.checkpoint("mailer").await.unwrap(),
            Some(global(saved))
        );
    }
}

pub(super) async fn deleted_checkpoint_begins_again(store: &Subject<impl MessageStore>) {
    store.save_checkpoint("mailer", global(9)).await.unwrap();
    assert!(store.delete_checkpoint("mailer").await.unwrap());
    assert!(!store.delete_checkpoint("mailer").await.unwrap());
    assert_eq!(store.checkpoint("mailer").await.unwrap(), None);
    let saved = store.save_checkpoint("mailer", global(1)).await;
    assert_eq!(saved.unwrap(), global(1));
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
