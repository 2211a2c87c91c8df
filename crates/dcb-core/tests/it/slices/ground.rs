//! The databases that sliced projections are tested on: each with a log, and with the tables of two
//! versions of a read model that stores the key and the position of each event, in order of arrival, and
//! those of the events that it reacts to.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use dcb_core::{
    Error, Event, EventStore, ProjectionStatus, Query, SetAside, SliceKey, SliceOptions,
    SlicedModel, SlicedRunner, SubscribeOptions,
};
use tokio::process::{Child, Command};

use serde::{Deserialize, Serialize};

use crate::support::backend::Address;
use crate::support::events::whole_log;

/// Longer than any step takes.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
/// The environment variable of member processes.
const TASK: &str = "REGISTRAR_TEST_SLICES";

/// The task of a member process.
#[derive(Serialize, Deserialize)]
struct Task {
    address: Address,
    batch_size: usize,
}

/// The positions of each key, in order.
pub(super) type ByKey = BTreeMap<String, Vec<u64>>;

/// The key of a test's projection.
pub(super) fn course() -> SliceKey {
    SliceKey::tag("course")
}

pub(super) fn options() -> SliceOptions {
    SliceOptions::new()
        .slices(8)
        .workers(2)
        .read(SubscribeOptions::new().batch_size(16))
}

/// A log and the tables of the projection `seen`.
///
/// The tables are `seen_1` and `seen_2`, `reacted`, and `refused`: the positions of events that the
/// handler refuses. `seen` is a view of the current version's table. No table has a unique constraint, so
/// an event that is handled twice shows.
pub(super) trait Ground: Clone + Send + Sync + 'static {
    type Store: EventStore + Clone + 'static;
    type Model: SlicedModel;

    fn new() -> impl Future<Output = Self> + Send;

    fn store(&self) -> &Self::Store;

    /// Another store on the log.
    fn connect(&self) -> impl Future<Output = Self::Store> + Send;

    fn model(&self, version: u32) -> Self::Model;

    /// Runs SQL in which `@` stands before the name of each table.
    fn run(&self, sql: &str) -> impl Future<Output = ()> + Send;

    /// The number that such SQL returns.
    fn number(&self, sql: &str) -> impl Future<Output = i64> + Send;

    /// The positions of each key in a table, in order of arrival.
    fn of_table(&self, table: &str) -> impl Future<Output = ByKey> + Send;

    fn list(&self) -> impl Future<Output = Vec<ProjectionStatus>> + Send;

    fn resume(&self) -> impl Future<Output = ()> + Send;

    fn set_aside(&self) -> impl Future<Output = Vec<SetAside>> + Send;

    fn resize(
        &self,
        version: u32,
        slices: u32,
        limit: Duration,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    fn replay(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;

    fn promote(
        &self,
        version: u32,
        limit: Duration,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    fn take_over(
        &self,
        version: u32,
        limit: Duration,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    fn discard(&self, version: u32) -> impl Future<Output = ()> + Send;

    fn address(&self) -> Address;

    fn runner(&self, version: u32) -> Runner<Self> {
        let store = self.store().clone();
        SlicedRunner::new(store, Query::all(), course(), self.model(version)).options(options())
    }

    /// Appends events of `courses` courses, in turns.
    fn append(&self, courses: u64, events: u64) -> impl Future<Output = ()> + Send {
        let event = move |number: u64| {
            let event = Event::builder("Happened").tag_pair("course", number % courses);
            event.build().unwrap()
        };
        async move {
            for first in (0..events).step_by(50) {
                let batch = (first..events.min(first + 50)).map(event);
                let appended = self.store().append(batch.collect::<Vec<_>>()).await;
                appended.unwrap();
            }
        }
    }

    /// The positions of each key in the log.
    fn expected(&self) -> impl Future<Output = ByKey> + Send {
        async {
            let mut expected = ByKey::new();
            for event in whole_log(self.store()).await {
                let key = event.tag_value("course").unwrap_or("none").to_owned();
                let positions = expected.entry(key).or_default();
                positions.push(event.position().get());
            }
            expected
        }
    }

    /// Brings a version to the head, and asserts that it has handled each event once, in the order of its
    /// key.
    fn assert_complete(&self, version: u32) -> impl Future<Output = ()> + Send {
        async move {
            self.runner(version).catch_up().await.unwrap();
            let table = format!("seen_{version}");
            assert_eq!(self.of_table(&table).await, self.expected().await);
        }
    }

    /// Starts a process that is a member of version 1.
    fn member(&self) -> Child {
        self.member_with(options().read.batch_size)
    }

    /// Starts a process that is a member of version 1, and reads this number of events at once.
    fn member_with(&self, batch_size: usize) -> Child {
        let address = self.address();
        let task = serde_json::to_string(&Task {
            address,
            batch_size,
        });
        Command::new(std::env::current_exe().expect("the path of this executable"))
            .args(["worker", "--exact", "--ignored", "--nocapture"])
            .env(TASK, task.expect("a task is plain data"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("this executable can run")
    }
}

pub(super) type Runner<G> = SlicedRunner<<G as Ground>::Store, <G as Ground>::Model>;

/// The body of a member process: works until it is killed. Does nothing without a task.
pub(crate) fn serve() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let Task {
        address,
        batch_size,
    } = serde_json::from_str(&task).expect("a task");
    let options = options().read(SubscribeOptions::new().batch_size(batch_size));
    let runtime = tokio::runtime::Runtime::new().expect("the runtime starts");
    runtime.block_on(async {
        let ended = match address {
            Address::Postgres { url, schema } => {
                let ground = super::postgres::Postgres::at(&url, &schema).await;
                ground.runner(1).options(options).run().await
            }
            Address::Sqlite { path } => {
                let ground = super::sqlite::Sqlite::at(&path).await;
                ground.runner(1).options(options).run().await
            }
        };
        panic!("the member ended: {ended:?}");
    });
}

/// Makes a test of each of these generic functions on each database.
macro_rules! on_each_database {
    ($($test:ident)*) => {
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<crate::slices::postgres::Postgres>().await;
                }
            )*
        }

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<crate::slices::sqlite::Sqlite>().await;
                }
            )*
        }
    };
}
pub(super) use on_each_database;
