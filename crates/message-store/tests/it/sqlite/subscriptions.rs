use std::time::Duration;

use message_store::sqlite::{Config, SqliteStore};
use message_store::{
    Category, ConsumerGroup, ExpectedVersion, GlobalPosition, MessageStore, Position,
    RecordedMessage, SubscribeOptions, Subscription,
};

use crate::support::sqlite::{message, messages, open, stream_name, write};

async fn store() -> SqliteStore {
    SqliteStore::open(Config::memory()).await.unwrap()
}

async fn next(subscription: &mut Subscription<SqliteStore>) -> RecordedMessage {
    let next = tokio::time::timeout(Duration::from_secs(60), subscription.next()).await;
    next.expect("a message comes").unwrap()
}

/// Options that poll once an hour, so that messages arrive only by notification.
fn without_polling() -> SubscribeOptions {
    let options = SubscribeOptions::new().batch_size(3);
    options.poll_interval(Duration::from_secs(3600))
}

fn all_messages(store: &SqliteStore, options: SubscribeOptions) -> Subscription<SqliteStore> {
    store.subscribe_to_category(Category::all(), GlobalPosition::START, options)
}

#[tokio::test(flavor = "multi_thread")]
async fn subscription_has_no_gap_between_catch_up_and_live() {
    let store = store().await;
    for number in 0..50 {
        write(&store, "a-1", number).await;
    }
    let mut all = all_messages(&store, without_polling());
    let writer = tokio::spawn(async move {
        for number in 50..500 {
            write(&store, "a-1", number).await;
        }
    });
    for number in 0..500 {
        assert_eq!(next(&mut all).await.data::<u64>().unwrap(), number);
    }
    writer.await.unwrap();
    assert_eq!(all.lag().await.unwrap(), 0);
    assert!(all.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn slow_reader_misses_nothing_and_sees_lag() {
    let store = store().await;
    let from = Position::new(1);
    let options = SubscribeOptions::new;
    let mut stream = store.subscribe_to_stream(stream_name("a-1"), from, options());
    let category = Category::new("a").unwrap();
    let category = store.subscribe_to_category(category, GlobalPosition::START, options());
    store
        .write_batch(&stream_name("a-1"), messages(1000), ExpectedVersion::Any)
        .await
        .unwrap();
    assert_eq!(stream.lag().await.unwrap(), 999);
    assert_eq!(category.lag().await.unwrap(), 1000);
    for number in 1..1000 {
        assert_eq!(next(&mut stream).await.data::<u64>().unwrap(), number);
        assert_eq!(stream.lag().await.unwrap(), 999 - number);
    }
}

/// A member that kept its scanned position without the dropped messages would miss them.
#[tokio::test]
async fn dropped_messages_are_read_again() {
    let store = store().await;
    for number in 0..10 {
        write(&store, &format!("a-{number}"), number).await;
    }
    let (start, category) = (GlobalPosition::START, Category::new("a").unwrap());
    let group = ConsumerGroup::new(0, 1).unwrap();
    let read_all = store.subscribe_to_category(category.clone(), start, SubscribeOptions::new());
    for mut subscription in [
        store.subscribe_to_group(category, group, start, SubscribeOptions::new()),
        read_all,
    ] {
        for number in 0..10 {
            let message = next(&mut subscription).await;
            assert_eq!(message.data::<u64>().unwrap(), number);
            assert_eq!(subscription.read_ahead() as u64, 9 - number);
            if number % 2 == 0 {
                subscription.drop_read_ahead();
                assert_eq!(subscription.read_ahead(), 0);
            }
        }
    }
}

#[tokio::test]
async fn group_members_divide_category() {
    let store = store().await;
    let mut members = [0, 1, 2].map(|member| {
        let group = ConsumerGroup::new(member, 3).unwrap();
        let category = Category::new("a").unwrap();
        store.subscribe_to_group(
            category,
            group,
            GlobalPosition::START,
            SubscribeOptions::new(),
        )
    });
    let (mut seen, mut expected) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for number in 0..20 {
            write(&store, &format!("a-{number}"), round * 20 + number).await;
            write(&store, &format!("b-{number}"), 1000).await;
            expected.push(round * 20 + number);
        }
        for member in &mut members {
            while let Some(message) = member.try_next().await.unwrap() {
                seen.push(message.data::<u64>().unwrap());
            }
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, expected, "each message has one member");
}

#[tokio::test]
async fn polling_finds_writes_of_other_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let (own, other) = (SqliteStore::from(open(&path)), open(&path));
    let options = SubscribeOptions::new().poll_interval(Duration::from_millis(5));
    let mut all = all_messages(&own, options);
    let reader = tokio::spawn(async move { next(&mut all).await.data::<u64>().unwrap() });
    tokio::time::sleep(Duration::from_millis(20)).await;
    other
        .write_message(&stream_name("a-1"), message(7), ExpectedVersion::Any)
        .unwrap();
    assert_eq!(reader.await.unwrap(), 7);
}

#[tokio::test]
async fn cancelled_wait_loses_no_message() {
    let store = store().await;
    let mut all = all_messages(&store, without_polling());
    for number in 0..20 {
        let waited = tokio::time::timeout(Duration::from_micros(200), all.next()).await;
        assert!(waited.is_err(), "no message yet");
        write(&store, "a-1", number).await;
        assert_eq!(next(&mut all).await.data::<u64>().unwrap(), number);
    }
}
