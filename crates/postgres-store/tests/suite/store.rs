//! The part of a store that the suite needs.

use std::error::Error;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use postgres_store::{ConnectError, ConnectErrorKind, ServerConfig};
use store_fault::{Fault, Health, Listener};
use uuid::Uuid;

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) fault: Option<Fault>,
    pub(crate) is_transient: bool,
    pub(crate) text: String,
}

impl Failed {
    pub(crate) fn new(error: &(dyn Error + 'static), is_transient: bool) -> Self {
        Self {
            fault: Fault::in_chain(error).cloned(),
            is_transient,
            text: error.to_string(),
        }
    }

    /// Why the server can't be reached.
    pub(crate) fn cause(&self) -> &ConnectError {
        let Some(Fault::Unreachable(reason)) = &self.fault else {
            panic!("{self:?}");
        };
        let source = reason.source().expect("a source");
        source.downcast_ref().expect("a cause")
    }

    pub(crate) fn assert_no_answer(&self) {
        let kind = self.cause().kind();
        let expected = [ConnectErrorKind::Refused, ConnectErrorKind::NotAnswered];
        assert!(expected.contains(&kind), "{self:?}");
    }
}

pub(crate) type Answer<T> = Result<T, Failed>;

/// A call that has not begun, with a name for messages.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) answer: Pin<Box<dyn Future<Output = Answer<()>> + Send>>,
}

impl Call {
    pub(crate) fn new<T, E: Into<Failed>>(
        name: &'static str,
        call: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        let answer = Box::pin(async move { call.await.map(drop).map_err(Into::into) });
        Self { name, answer }
    }

    pub(crate) async fn succeed(self) {
        let answer = self.answer.await;
        answer.unwrap_or_else(|failed| panic!("{}: {failed:?}", self.name));
    }
}

/// A store of records in a server. The ground does not look into records.
pub(crate) trait Store: Clone + Send + Sync + 'static {
    type Subscription: Send;

    /// The name of the store's sessions at the server.
    const APPLICATION: &'static str;
    /// The table of the records.
    const TABLE: &'static str;
    /// How many short reads of followers share a statement if they wait for a connection.
    const READS_IN_A_STATEMENT: usize;

    /// The defaults, for the database at this URL.
    fn config(url: &str) -> ServerConfig;

    fn connect(server: ServerConfig) -> impl Future<Output = Answer<Self>> + Send;

    /// Writes one record with this id.
    fn write_as(&self, id: Uuid) -> impl Future<Output = Answer<()>> + Send;

    fn write(&self) -> impl Future<Output = Answer<()>> + Send {
        self.write_as(Uuid::now_v7())
    }

    /// Writes one record, and waits until reads see it.
    fn write_and_wait(&self) -> impl Future<Output = Answer<()>> + Send;

    /// The ids of all records.
    fn ids(&self) -> impl Future<Output = Answer<Vec<Uuid>>> + Send;

    /// A small read.
    fn head(&self) -> impl Future<Output = Answer<()>> + Send;

    /// A read of each kind.
    fn reads(&self) -> Vec<Call>;

    /// Other changes than the writes of records. They succeed in every store, also in an empty one.
    fn changes(&self) -> Vec<Call>;

    /// Checks what the store promises beyond the ground.
    fn verify(&self) -> impl Future<Output = ()> + Send;

    fn health(&self) -> impl Future<Output = Answer<Health>> + Send;

    fn listener(&self) -> Option<Listener>;

    fn lost_connections(&self) -> u64;

    /// The number of reads so far.
    fn reads_so_far(&self) -> u64;

    fn replicas_in_use(&self) -> usize;

    /// Follows all records, and looks for new ones at this interval beside notifications.
    fn subscribe(&self, interval: Option<Duration>) -> Self::Subscription;

    /// The same, woken by notifications only. Reads of followers with different numbers are not identical.
    fn follow_as(&self, number: usize) -> Self::Subscription;

    /// The id of the next record.
    fn next(following: &mut Self::Subscription) -> impl Future<Output = Answer<Uuid>> + Send;

    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// The error of a call that must fail.
pub(crate) fn failure<T: Debug>(answer: Answer<T>) -> Failed {
    answer.expect_err("the call fails")
}
