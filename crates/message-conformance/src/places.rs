//! The place of a reader: the last message that it has handled.

use std::sync::Arc;

use conformance_suite::assert_refused;
use message_store::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, GlobalPosition, MessageStore, Start,
    StreamRead, SubscribeOptions, Subscription,
};
use uuid::Uuid;

use super::Subject;
use super::fixture::{category, fill, global, message, name, numbers, position_at, stream, write};

fn alone() -> ConsumerGroup {
    ConsumerGroup::new(0, 1).expect("the group is valid")
}

/// A bookmark with the id of a message that is not in the store.
fn lost(position: GlobalPosition) -> Bookmark {
    Bookmark::new(position, Uuid::now_v7())
}

/// The answers of all kinds of reads from this start.
async fn reads(store: &impl MessageStore, start: impl Into<Start>) -> Vec<Result<Vec<u64>, Error>> {
    let read = CategoryRead::new().start(start);
    let mut answers = Vec::new();
    for read in [
        read.clone(),
        read.clone().batch_size(0),
        read.batch_size(None),
    ] {
        for of in [category("account"), Category::all()] {
            for read in [
                read.clone(),
                read.clone().consumer_group(alone()),
                read.clone().correlation(category("none")),
                read.clone()
                    .correlation(category("none"))
                    .consumer_group(alone()),
            ] {
                let page = store.get_category_messages(&of, read).await;
                answers.push(page.map(|page| numbers(&page)));
            }
        }
    }
    answers
}

type Followed<S> = Subscription<Arc<S>>;

/// A subscription to a category, one to all messages, and one of a group's only member.
fn subscriptions<S: MessageStore>(store: &Subject<S>, start: impl Into<Start>) -> [Followed<S>; 3] {
    let (start, options) = (start.into(), SubscribeOptions::new);
    let store: &Arc<S> = store;
    [
        store.subscribe_to_category(category("account"), start, options()),
        store.subscribe_to_category(Category::all(), start, options()),
        store.subscribe_to_group(category("account"), alone(), start, options()),
    ]
}

pub(super) async fn read_begins_after_bookmark(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 5).await;
    let messages = stream(&**store, "account-1").await;
    for message in &messages {
        let after = numbers(&messages[message.position().get() as usize + 1..]);
        let read = CategoryRead::new().start(message.bookmark());
        let page = store
            .get_category_messages(&category("account"), read)
            .await;
        assert_eq!(numbers(&page.unwrap()), after);
        let read = StreamRead::new().after(message);
        let page = store.get_stream_messages(&name("account-1"), read).await;
        assert_eq!(numbers(&page.unwrap()), after);
        for answer in reads(&**store, message.bookmark()).await {
            answer.unwrap();
        }
    }
}

pub(super) async fn head_is_last_message(store: &Subject<impl MessageStore>) {
    assert_eq!(store.head().await.unwrap(), None);
    for stream_name in ["account-1", "other-1"] {
        fill(&**store, stream_name, 2).await;
        let last = stream(&**store, stream_name).await.pop().unwrap();
        assert_eq!(store.head().await.unwrap(), Some(last.bookmark()));
    }
}

pub(super) async fn replaced_message_is_noticed_by_every_read(store: &Subject<impl MessageStore>) {
    let written = fill(&**store, "account-1", 3).await;
    for place in written.iter().map(|written| written.global_position) {
        for answer in reads(&**store, lost(place)).await {
            assert_refused!(answer, Error::PastReplaced { position } if *position == place);
        }
        let read = StreamRead::new().handled(lost(place));
        let answer = store.get_stream_messages(&name("account-1"), read).await;
        assert_refused!(answer, error @ Error::PastReplaced { .. } if !error.is_transient());
    }
}

pub(super) async fn place_beyond_head_is_noticed_by_every_read(store: &Subject<impl MessageStore>) {
    for head in [None, Some(global(2))] {
        let place = head.map_or(GlobalPosition::START, GlobalPosition::next);
        let starts: [Start; 3] = [
            lost(place).into(),
            Bookmark::from(place).into(),
            place.next().into(),
        ];
        for start in starts {
            for answer in reads(&**store, start).await {
                let told = (place, store.head().await.unwrap().map(|head| head.position));
                assert_refused!(answer, Error::AfterBeyondHead { after, head } if (*after, *head) == told);
            }
        }
        let here: [Start; 2] = [place.into(), head.map(Bookmark::from).into()];
        for start in here {
            assert!(reads(&**store, start).await.iter().all(Result::is_ok));
        }
        fill(&**store, "account-1", 2).await;
    }
}

pub(super) async fn plain_position_is_not_checked(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 3).await;
    for position in [global(100), global(u64::MAX)] {
        let read = CategoryRead::new()
            .start(lost(global(2)))
            .position(position);
        let page = store
            .get_category_messages(&category("account"), read)
            .await;
        assert!(page.unwrap().is_empty());
    }
}

pub(super) async fn deleted_message_counts_as_there(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 5).await;
    let messages = stream(&**store, "account-1").await;
    let mut followed = subscriptions(store, messages[1].bookmark());
    let account = name("account-1");
    let truncated = store.truncate_stream(&account, position_at(3)).await;
    assert_eq!(truncated.unwrap(), 3);
    for handled in &messages[..3] {
        let all = CategoryRead::new().start(handled.bookmark());
        let page = store.get_category_messages(&category("account"), all).await;
        assert_eq!(numbers(&page.unwrap()), [3, 4]);
        for answer in reads(&**store, handled.bookmark()).await {
            answer.unwrap();
        }
    }
    for subscription in &mut followed {
        assert!(subscription.lag().await.is_ok());
        assert_eq!(subscription.next().await.unwrap(), messages[3]);
    }
}

pub(super) async fn subscription_out_of_place_ends(store: &Subject<impl MessageStore>) {
    let written = fill(&**store, "account-1", 2).await;
    let (first, head) = (written[0].global_position, written[1].global_position);
    let beyond = GlobalPosition::new(head.get() + 3);
    let starts: [Start; 4] = [
        lost(first).into(),
        lost(head).into(),
        lost(beyond).into(),
        Bookmark::from(beyond).into(),
    ];
    let mut followed: Vec<_> = starts
        .into_iter()
        .flat_map(|start| subscriptions(store, start))
        .collect();
    let is_end = |error: &Error| {
        matches!(
            error,
            Error::PastReplaced { .. } | Error::AfterBeyondHead { .. }
        )
    };
    for subscription in &mut followed {
        assert_refused!(subscription.lag().await, error if is_end(error));
        assert_refused!(subscription.next().await, error if is_end(error));
    }
    // The store grows past each of them.
    for number in 2..20 {
        write(&**store, "account-1", message(number)).await;
    }
    for subscription in &mut followed {
        assert_refused!(subscription.lag().await, error if is_end(error));
        assert_refused!(subscription.try_next().await, error if is_end(error));
    }
}

pub(super) async fn subscription_from_head_has_only_new_messages(
    store: &Subject<impl MessageStore>,
) {
    for number in 0..3 {
        let followed = subscriptions(store, store.head().await.unwrap());
        write(&**store, "account-1", message(number)).await;
        for mut subscription in followed {
            let next = subscription.next().await.unwrap();
            assert_eq!(next.data::<u64>().unwrap(), number);
        }
    }
}

pub(super) async fn subscription_from_checkpoint_continues(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 3).await;
    for number in 0..3 {
        for mut subscription in subscriptions(store, store.checkpoint("mailer").await.unwrap()) {
            assert_eq!(subscription.lag().await.unwrap(), 3 - number);
            let next = subscription.next().await.unwrap();
            assert_eq!(next.data::<u64>().unwrap(), number);
        }
        let next = &stream(&**store, "account-1").await[number as usize];
        store
            .save_checkpoint("mailer", next.bookmark())
            .await
            .unwrap();
    }
}
