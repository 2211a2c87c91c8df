//! Callers of both stores that go on until they are stopped, and the checks of what they were told.

mod accounts;
mod enrollments;
mod errors;
mod ledger;
mod messages;
mod names;
mod pulse;
mod replay;
mod seats;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{EventStore, Query, ReadOptions};
use message_store::MessageStore as _;
use message_store::postgres as message_postgres;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::follow::{EventFollowers, MessageFollowers};
use ledger::Ledger;
pub(crate) use ledger::Loss;
use pulse::Pulse;

/// Callers of each kind.
const CALLERS: usize = 4;
/// The pause of a caller between two writes, so that the log stays short enough to check.
const PACE: Duration = Duration::from_millis(25);

/// The state that the callers share.
pub(crate) struct Shared {
    events: PostgresStore,
    messages: message_postgres::PostgresStore,
    is_stopped: AtomicBool,
    event_pulse: Pulse,
    message_pulse: Pulse,
    names: AtomicU64,
    seats: AtomicU64,
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.is_stopped.load(Ordering::SeqCst)
    }
}

/// The callers, and followers of both stores.
pub(crate) struct Load {
    shared: Arc<Shared>,
    callers: JoinSet<Ledger>,
    event_followers: EventFollowers,
    message_followers: MessageFollowers,
}

impl Load {
    /// Opens both stores at `url` once, and starts the callers and followers.
    pub(crate) async fn start(url: &str) -> Self {
        let config = Config::new(url);
        let events = PostgresStore::connect(config.clone()).await;
        let events = events.expect("the store connects");
        let messages = message_postgres::Config::new(url);
        let messages = message_postgres::PostgresStore::connect(messages).await;
        let messages = messages.expect("the store connects");
        let shared = Arc::new(Shared {
            events,
            messages,
            is_stopped: AtomicBool::new(false),
            event_pulse: Pulse::new(),
            message_pulse: Pulse::new(),
            names: AtomicU64::new(0),
            seats: AtomicU64::new(0),
        });
        Self {
            event_followers: EventFollowers::start(&shared.events, &config).await,
            message_followers: MessageFollowers::start(&shared.messages),
            callers: start_callers(&shared),
            shared,
        }
    }

    /// Waits until more writes of both kinds are acknowledged.
    pub(crate) async fn wait_for_writes(&self, more: u64) {
        self.shared.event_pulse.wait_for(more).await;
        self.shared.message_pulse.wait_for(more).await;
    }

    /// How long after `instant` the next event and the next message were acknowledged.
    pub(crate) async fn resumed_after(&self, instant: Instant) -> [Duration; 2] {
        let Shared {
            event_pulse,
            message_pulse,
            ..
        } = &*self.shared;
        let (events, messages) =
            tokio::join!(event_pulse.after(instant), message_pulse.after(instant));
        [events, messages]
    }

    /// Stops the callers, and checks both stores, all answers, and what the followers got. Without a
    /// loss, nothing is missing. With one, the followers may have been told.
    pub(crate) async fn finish(mut self, loss: Option<&Loss>) {
        let ledger = self.stop().await;
        let answers = count_answers(&ledger);
        println!("answers: {answers:?}");
        if loss.is_none() {
            assert!(!answers.contains_key(errors::PAST_IS_LOST));
        }
        let Shared {
            events, messages, ..
        } = &*self.shared;
        let log = events.query(&Query::all(), ReadOptions::new()).await;
        let log = log.expect("the log can be read").events;
        ledger.check_events(&log, loss);
        replay::check(&log);
        let all = messages::read_all(messages).await;
        ledger.check_messages(&all, loss);
        self.event_followers.check(&log, loss.is_some()).await;
        self.message_followers.check(&all, loss.is_some()).await;
        println!("{} events and {} messages are right", log.len(), all.len());
        events.close().await;
        messages.close().await;
    }

    async fn stop(&mut self) -> Ledger {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        let mut ledger = Ledger::default();
        while let Some(caller) = self.callers.join_next().await {
            ledger.extend(caller.expect("no caller panics"));
        }
        ledger
    }
}

fn start_callers(shared: &Arc<Shared>) -> JoinSet<Ledger> {
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(accounts::run(Arc::clone(shared), number));
        callers.spawn(names::run(Arc::clone(shared)));
        callers.spawn(enrollments::run(Arc::clone(shared)));
        callers.spawn(messages::run(Arc::clone(shared), number));
    }
    callers
}

/// Pauses a caller: for its pace, or longer after a failure, since a server that is down refuses at
/// once.
async fn pause(has_failed: bool) {
    sleep(if has_failed { PACE * 2 } else { PACE }).await;
}

fn count_answers(ledger: &Ledger) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for answer in ledger.answers() {
        *counts.entry(answer).or_default() += 1;
    }
    counts
}
