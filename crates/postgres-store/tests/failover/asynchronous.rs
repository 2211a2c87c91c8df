//! An asynchronous standby lacks the leader's last events. The configuration allows this loss. No decision
//! counts on the lost events, and each follower gets an error.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresReadModel, PostgresStore};
use dcb_core::{
    Append, AppendCondition, Appended, DecisionModel, Error, Event, EventStore, Events,
    ProjectionRunner, Projector, Query, ReadOptions, SubscribeOptions, Subscription,
};
use local_postgres::{Database, Durability};
use message_store::MessageStore as _;
use message_store::postgres as message_postgres;
use tokio::time::{Instant, sleep};

use crate::cluster::{Address, Cluster as _, Fault, Replication, StandbyCluster};
use crate::follow::{Positions, kept_positions, runner};
use crate::load::{Load, Loss};

const DEPOSITED: &str = "Deposited";
const WITHDRAWN: &str = "Withdrawn";
/// Events and messages that the standby has.
const REPLICATED: u64 = 6;
/// Those that it lacks.
const LOST: u64 = 4;

/// The events of the new leader at the positions of the lost ones, when the others find it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    Nothing,
    MoreThanWasLost,
}

impl Since {
    fn is_told(self, error: &Error) -> bool {
        match self {
            Self::Nothing => matches!(error, Error::AfterBeyondHead { .. }),
            Self::MoreThanWasLost => matches!(error, Error::PastReplaced { .. }),
        }
    }

    fn is_told_by_messages(self, error: &message_store::Error) -> bool {
        use message_store::Error::{AfterBeyondHead, PastReplaced};
        match self {
            Self::Nothing => matches!(error, AfterBeyondHead { .. }),
            Self::MoreThanWasLost => matches!(error, PastReplaced { .. }),
        }
    }
}

fn event(event_type: &str) -> Event {
    let event = Event::builder(event_type).tag("account_id:1");
    event.build().unwrap()
}

fn of_type(event_type: &str) -> Query {
    Query::builder().event_type(event_type).build().unwrap()
}

/// Repeats a call until its answer is none of an outage.
async fn settled<T>(mut call: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => sleep(Duration::from_millis(20)).await,
            answer => return answer,
        }
    }
}

async fn append_each(store: &PostgresStore, event_type: &str, count: u64) {
    for _ in 0..count {
        store.append(event(event_type)).await.unwrap();
    }
}

/// A database of another server, for a kept projection.
async fn elsewhere() -> Database {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let database = server.unwrap().create_database("kept").await;
    database.unwrap()
}

/// A service when the leader dies. It has seen more than the standby has.
struct Service {
    store: PostgresStore,
    read: Events,
    events: Subscription,
    runner: ProjectionRunner<PostgresStore, PostgresReadModel<Positions>>,
    kept: Database,
}

impl Service {
    async fn start(cluster: &StandbyCluster) -> Self {
        let store = PostgresStore::connect(Config::new(cluster.url()))
            .await
            .unwrap();
        append_each(&store, DEPOSITED, REPLICATED).await;
        cluster.wait_for_standby().await;
        cluster.replication().cut();
        append_each(&store, WITHDRAWN, LOST).await;
        let read = store
            .query(&Query::all(), ReadOptions::new())
            .await
            .unwrap();
        let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
        for _ in 0..REPLICATED + LOST {
            events.next().await.unwrap().unwrap();
        }
        let kept = elsewhere().await;
        let mut runner = runner(&store, &Config::new(kept.url())).await;
        runner.catch_up().await.unwrap();
        Self {
            store,
            read,
            events,
            runner,
            kept,
        }
    }

    /// Appends on the state that it has read.
    async fn decide(&self) -> Result<Appended, Error> {
        let unchanged = AppendCondition::fail_if(of_type(WITHDRAWN)).after(self.read.head);
        let append = Append::new(event(WITHDRAWN)).condition(unchanged);
        settled(async || self.store.submit(append.clone()).await).await
    }

    async fn assert_told(&mut self, since: Since) {
        let refused = self.decide().await.unwrap_err();
        assert!(since.is_told(&refused), "{refused:?}");
        let ended = self.events.next().await.unwrap().unwrap_err();
        assert!(since.is_told(&ended), "{ended:?}");
        let Err(ended) = self.runner.run().await;
        assert!(since.is_told(&ended), "{ended:?}");
    }

    /// Decides on a new read, and builds the projection again.
    async fn go_on(&mut self) {
        let other = Projector::counter(of_type("Closed"));
        let model = DecisionModel::new(other);
        let closes = |closed| {
            Ok::<_, Error>(if closed == 0 {
                vec![event("Closed")]
            } else {
                vec![]
            })
        };
        let decided = settled(async || model.decide(&self.store, closes).await).await;
        assert!(decided.unwrap().appended.is_some());
        self.runner.rebuild().await.unwrap();
        let head = self.store.head().await.unwrap().unwrap().position;
        let expected: Vec<i64> = (1..=head.get() as i64).collect();
        assert_eq!(kept_positions(self.kept.url()).await, expected);
        self.store.close().await;
    }
}

async fn events_are_lost(since: Since) {
    let asynchronous = StandbyCluster::start(Replication::Asynchronous, Address::One);
    let Some(mut cluster) = asynchronous.await else {
        return;
    };
    let mut service = Service::start(&cluster).await;
    cluster.front().cut();
    cluster.fail(Fault::Killed).await;
    if since == Since::MoreThanWasLost {
        let other = Config::new(cluster.standby_url());
        let other = PostgresStore::connect(other).await.unwrap();
        append_each(&other, WITHDRAWN, LOST + 1).await;
        other.close().await;
    }
    cluster.front().mend();
    service.assert_told(since).await;
    service.go_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn position_that_the_new_leader_lacks_is_refused() {
    events_are_lost(Since::Nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn position_of_a_lost_event_is_refused_once_the_log_has_grown() {
    events_are_lost(Since::MoreThanWasLost).await;
}

async fn messages_are_lost(since: Since) {
    use message_store::{Category, ConsumerGroup, ExpectedVersion, Message, StreamName};
    let asynchronous = StandbyCluster::start(Replication::Asynchronous, Address::One);
    let Some(mut cluster) = asynchronous.await else {
        return;
    };
    let connect = async |url: &str| {
        let config = message_postgres::Config::new(url);
        message_postgres::PostgresStore::connect(config)
            .await
            .unwrap()
    };
    let stream = StreamName::new("account-1").unwrap();
    let write = async |store: &message_postgres::PostgresStore, count| {
        for _ in 0..count {
            let message = Message::builder("Deposited").build().unwrap();
            let written = store
                .write_message(&stream, message, ExpectedVersion::Any)
                .await;
            written.unwrap();
        }
    };
    let store = connect(&cluster.url()).await;
    write(&store, REPLICATED).await;
    cluster.wait_for_standby().await;
    cluster.replication().cut();
    write(&store, LOST).await;
    let (accounts, options) = (Category::of(&stream), message_store::SubscribeOptions::new);
    let only = ConsumerGroup::new(0, 1).unwrap();
    let mut followers = [
        store.subscribe_to_category(Category::all(), None::<message_store::Bookmark>, options()),
        store.subscribe_to_category(accounts.clone(), None::<message_store::Bookmark>, options()),
        store.subscribe_to_group(
            accounts.clone(),
            only,
            None::<message_store::Bookmark>,
            options(),
        ),
    ];
    let mut last = None;
    for follower in &mut followers {
        for _ in 0..REPLICATED + LOST {
            last = Some(follower.next().await.unwrap().bookmark());
        }
    }
    cluster.front().cut();
    cluster.fail(Fault::Killed).await;
    if since == Since::MoreThanWasLost {
        // The new leader skips up to 32 global positions.
        let other = connect(cluster.standby_url()).await;
        write(&other, LOST + 1).await;
        other.close().await;
    }
    cluster.front().mend();
    // The checkpoint of a consumer that keeps it elsewhere.
    let again = store.subscribe_to_category(accounts, last, options());
    for mut follower in followers.into_iter().chain([again]) {
        let told = loop {
            match follower.next().await {
                Err(error) if error.is_transient() => sleep(Duration::from_millis(20)).await,
                answer => break answer.unwrap_err(),
            }
        };
        assert!(since.is_told_by_messages(&told), "{told:?}");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_that_the_new_leader_lacks_is_missed() {
    messages_are_lost(Since::Nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_message_is_missed_once_the_store_has_grown() {
    messages_are_lost(Since::MoreThanWasLost).await;
}

/// Everything that was acknowledged before and after the loss is there, and each decision has seen
/// exactly the events that are in the log.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_decided_on_lost_events_under_load() {
    let asynchronous = StandbyCluster::start(Replication::Asynchronous, Address::Several);
    let Some(mut cluster) = asynchronous.await else {
        return;
    };
    let load = Load::start(&cluster.url()).await;
    load.wait_for_writes(100).await;
    // The standby has everything that was acknowledged up to now.
    let from = Instant::now();
    cluster.wait_for_standby().await;
    cluster.replication().cut();
    load.wait_for_writes(100).await;
    let to = cluster.fail(Fault::Killed).await;
    load.wait_for_writes(200).await;
    load.finish(Some(&Loss { from, to })).await;
}
