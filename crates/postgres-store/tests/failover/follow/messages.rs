use message_store::postgres::PostgresStore;
use message_store::{
    Category, ConsumerGroup, GlobalPosition, MessageStore as _, RecordedMessage, SubscribeOptions,
    Subscription,
};
use uuid::Uuid;

use super::seen::{Ended, Follower};

/// The members of the consumer group.
const MEMBERS: i64 = 2;
/// A member saves its checkpoint after this number of messages.
const CHECKPOINT_EVERY: usize = 50;

/// A subscription to all messages, and a consumer group.
pub(crate) struct MessageFollowers {
    all: Follower<(u64, Uuid)>,
    members: Vec<(ConsumerGroup, Follower<(u64, Uuid)>)>,
}

impl MessageFollowers {
    pub(crate) fn start(store: &PostgresStore) -> Self {
        let options = SubscribeOptions::new;
        let (category, start) = (
            Category::new("account").expect("the name is valid"),
            GlobalPosition::START,
        );
        let all = store.subscribe_to_category(Category::all(), start, options());
        let member = |number| {
            let member = ConsumerGroup::new(number, MEMBERS).expect("the numbers are valid");
            let messages = store.subscribe_to_group(category.clone(), member, start, options());
            let consumer = Some((store.clone(), format!("member{number}")));
            (member, follow("a member of the group", messages, consumer))
        };
        Self {
            members: (0..MEMBERS).map(member).collect(),
            all: follow("the subscription to all messages", all, None),
        }
    }

    /// Asserts that each follower got each of its messages once and in order, or was told of a loss.
    pub(crate) async fn check(self, all: &[RecordedMessage], may_lose: bool) {
        self.all.check(&numbered(all.iter()), may_lose).await;
        for (member, follower) in self.members {
            let own = all
                .iter()
                .filter(|message| member.includes(message.stream_name()));
            follower.check(&numbered(own), may_lose).await;
        }
    }
}

/// Follows messages. With a consumer, saves its checkpoint now and then.
fn follow(
    name: &'static str,
    mut messages: Subscription<PostgresStore>,
    consumer: Option<(PostgresStore, String)>,
) -> Follower<(u64, Uuid)> {
    Follower::start(name, |seen| async move {
        for number in 1.. {
            let message = match messages.next().await {
                Ok(message) => message,
                Err(error) => return Ended::from(error),
            };
            seen.push((message.global_position().get(), message.id()));
            if let Some((store, name)) = &consumer
                && number % CHECKPOINT_EVERY == 0
            {
                // The next checkpoint makes up for one that fails.
                let saved = store.save_checkpoint(name, message.bookmark());
                let _ = saved.await;
            }
        }
        unreachable!("the numbers do not end")
    })
}

fn numbered<'m>(messages: impl Iterator<Item = &'m RecordedMessage>) -> Vec<(u64, Uuid)> {
    messages
        .map(|message| (message.global_position().get(), message.id()))
        .collect()
}
