//! Places of readers in a store whose past was replaced.

use std::future::{Ready, ready};
use std::time::Duration;

use message_store::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, Failure, GlobalPosition, MessageRunner,
    MessageStore, RecordedMessage, Start, StreamRead, SubscribeOptions, Subscription,
};
use tokio::task::JoinHandle;

use super::{stream_name, wait_until, write};
use crate::runner::support::{Seen, quick};

/// The stream of the tests.
pub(crate) const ACCOUNT: &str = "account-1";
/// The messages that the backup has.
pub(crate) const KEPT: u64 = 6;
/// The messages that were lost: readers have handled them.
pub(crate) const LOST: u64 = 4;

/// Writes messages with these numbers.
pub(crate) async fn write_numbers(store: &impl MessageStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        write(store, ACCOUNT, number).await;
    }
}

fn account() -> Category {
    Category::of(&stream_name(ACCOUNT))
}

/// A subscription of each kind that begins at a start.
pub(crate) fn subscriptions<S: MessageStore + Clone>(
    store: &S,
    start: impl Into<Start>,
) -> Vec<Subscription<S>> {
    let (start, options) = (start.into(), SubscribeOptions::new);
    let group = |member| ConsumerGroup::new(member, 2).expect("the group is valid");
    vec![
        store.subscribe_to_category(account(), start, options()),
        store.subscribe_to_category(Category::all(), start, options()),
        // One of them has the stream; the other has passed its messages.
        store.subscribe_to_group(account(), group(0), start, options()),
        store.subscribe_to_group(account(), group(1), start, options()),
    ]
}

/// The subscriptions of a service that runs, when they have handled all messages.
pub(crate) async fn followers<S: MessageStore + Clone>(store: &S) -> Vec<Subscription<S>> {
    let mut followers = subscriptions(store, GlobalPosition::START);
    let from = message_store::Position::START;
    let options = SubscribeOptions::new();
    followers.push(store.subscribe_to_stream(stream_name(ACCOUNT), from, options));
    for follower in &mut followers {
        let mut handled = 0;
        while follower.try_next().await.expect("a message").is_some() {
            handled += 1;
        }
        assert!([0, KEPT + LOST].contains(&handled), "{handled} messages");
        assert_eq!(follower.lag().await.expect("a lag"), 0);
    }
    followers
}

/// Checks that subscriptions end, and stay ended.
pub(crate) async fn assert_ended<S: MessageStore>(
    followers: &mut [Subscription<S>],
    is_end: impl Fn(&Error) -> bool,
) {
    for follower in followers {
        for _ in 0..2 {
            let end = end(follower).await;
            assert!(is_end(&end), "{end:?}");
            assert!(!end.is_transient());
            let lag = follower.lag().await;
            assert!(lag.as_ref().is_err_and(&is_end), "{lag:?}");
        }
    }
}

/// The error that ends a subscription. Its connections may be lost at first.
async fn end<S: MessageStore>(follower: &mut Subscription<S>) -> Error {
    let mut end = None;
    wait_until("the subscription ends", async || {
        let next = tokio::time::timeout(Duration::from_secs(20), follower.next()).await;
        match next.expect("an answer") {
            Ok(message) => panic!("the subscription went on with {message:?}"),
            Err(failed) if failed.is_transient() => false,
            Err(failed) => {
                end = Some(failed);
                true
            }
        }
    })
    .await;
    end.expect("an error")
}

/// Checks each place that outlives its process: of a read, of a subscription that is opened again, of a
/// member of a group, and in a saved checkpoint. `last` is the last message that was handled.
pub(crate) async fn assert_refused<S: MessageStore + Clone>(
    store: &S,
    last: &RecordedMessage,
    is_refusal: impl Fn(&Error) -> bool,
) {
    let text = last.bookmark().to_string();
    let kept: Bookmark = text.parse().expect("a bookmark");
    let read = CategoryRead::new().start(kept);
    for category in [account(), Category::all()] {
        let page = store.get_category_messages(&category, read.clone()).await;
        assert!(page.as_ref().is_err_and(&is_refusal), "{page:?}");
    }
    let after = StreamRead::new().after(last);
    let page = store.get_stream_messages(&last.stream(), after).await;
    assert!(page.as_ref().is_err_and(&is_refusal), "{page:?}");
    // A service that ran through the restore saves what it had handled.
    store
        .save_checkpoint("account-mailer", kept)
        .await
        .expect("saved");
    let saved = store
        .checkpoint("account-mailer")
        .await
        .expect("a checkpoint");
    for start in [Some(kept), saved] {
        assert_ended(&mut subscriptions(store, start), &is_refusal).await;
    }
    let options = SubscribeOptions::new();
    let stream = store.subscribe_to_stream(last.stream(), after, options);
    assert_ended(&mut [stream], &is_refusal).await;
    let mut runner = runner(store, "mailer", Seen::default());
    for _ in 0..2 {
        let end = runner.catch_up().await;
        assert!(end.as_ref().is_err_and(&is_refusal), "{end:?}");
    }
    assert_eq!(runner.progress().handled(), 0);
}

/// A runner of messages, whose handler takes each.
pub(crate) fn runner<S: MessageStore + Clone>(
    store: &S,
    consumer: &str,
    seen: Seen,
) -> MessageRunner<S, impl FnMut(RecordedMessage) -> Ready<Result<(), Failure>> + use<S>> {
    let handler = move |message| {
        seen.note(&message);
        ready(Ok(()))
    };
    let runner = MessageRunner::new(store.clone(), consumer, account(), handler);
    runner.expect("a valid name").options(quick())
}

/// The members of a group, which run and have handled all messages. They read after a hint only, so not
/// while there is no database.
pub(crate) async fn running<S: MessageStore + Clone + 'static>(
    store: &S,
) -> Vec<JoinHandle<Error>> {
    let mut running = Vec::new();
    for member in 0..2 {
        let group = ConsumerGroup::new(member, 2).expect("the group is valid");
        let options = quick().poll_interval(Duration::from_hours(1));
        let runner = runner(store, "group", Seen::default()).group(group);
        let mut runner = runner.options(options);
        let progress = runner.progress();
        running.push(tokio::spawn(async move {
            loop {
                match runner.run().await {
                    // In the moment of the restore there is no database. A service starts again.
                    Err(Error::Fault(fault)) if fault.code() == Some("3D000") => {}
                    Err(end) => return end,
                }
            }
        }));
        let through = Some(GlobalPosition::new(KEPT + LOST));
        wait_until("all is handled", async || progress.position() == through).await;
    }
    running
}

/// Checks the way on that the README tells: the consumer accepts what it has derived from the kept
/// messages, and goes on after them.
pub(crate) async fn assert_goes_on<S: MessageStore + Clone>(store: &S, next: u64) {
    assert!(
        store
            .delete_checkpoint("account-mailer")
            .await
            .expect("deleted")
    );
    let kept = GlobalPosition::new(KEPT);
    let saved = store.save_checkpoint("account-mailer", kept).await;
    let start = saved.expect("saved");
    let seen = Seen::default();
    let mut accepted = runner(store, "mailer", seen.clone());
    accepted.catch_up().await.expect("the runner goes on");
    assert_eq!(seen.numbers()[0], next);
    let options = SubscribeOptions::new();
    let mut mailer = store.subscribe_to_category(account(), start, options);
    let message = mailer.next().await.expect("a message");
    assert_eq!(message.data::<u64>().expect("a number"), next);
    let saved = store.save_checkpoint("reader", message.bookmark()).await;
    assert_eq!(saved.expect("saved"), message.bookmark());
}
