//! Transient errors that a caller's own code returns: nothing repeats them without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dcb_core::sqlite::{Config, Handler, SqliteReadModel, Transaction};
use dcb_core::{
    Append, Command, CommandExecutor, DecisionModel, Error, Event, EventStore as _, HandlerError,
    MemoryStore, Position, ProjectionRunner, Projector, Query, SequencedEvent,
};
use tokio::time::timeout;

use crate::support::events::{tag, tagged};

fn errors() -> [Error; 2] {
    [
        Error::TooManyProjections { max: 5, current: 5 },
        Error::RetriesExhausted {
            attempts: 10,
            position: Position::FIRST,
        },
    ]
}

/// Fails as if it had called a store.
struct Failing {
    error: Error,
    calls: Arc<AtomicU32>,
}

impl Handler for Failing {
    fn handle(&mut self, _: &Transaction<'_>, _: &[SequencedEvent]) -> Result<(), HandlerError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err(self.error.clone().into())
    }

    fn reset(&mut self, _: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// The runner repeats what its own database reports, not what a handler returns.
#[tokio::test]
async fn runner_ends_with_the_error_of_its_handler() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    store.append(tagged("a")).await.unwrap();
    for error in errors() {
        let calls = Arc::new(AtomicU32::new(0));
        let handler = Failing {
            error: error.clone(),
            calls: Arc::clone(&calls),
        };
        let config = Config::file(folder.path().join("model.db"));
        let model = SqliteReadModel::new(config, "failing", handler).unwrap();
        let mut runner = ProjectionRunner::new(store.clone(), Query::all(), model);
        let ended = timeout(Duration::from_secs(30), runner.catch_up()).await;
        let ended = ended.expect("the runner ends").unwrap_err();
        assert!(
            matches!(&ended, Error::Handler { source, .. } if source.to_string() == error.to_string()),
            "{ended:?}"
        );
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

/// A decision and a command repeat conflicts of their own appends, and return every other error.
#[tokio::test]
async fn decision_and_command_return_the_error_of_the_caller() {
    let store = MemoryStore::new();
    let model = DecisionModel::new(Projector::counter(tag("a")));
    let executor = CommandExecutor::new(store.clone());
    for error in errors() {
        let mut calls = 0;
        let decided = model.decide(&store, |_| {
            calls += 1;
            Err::<Event, _>(error.clone())
        });
        let decided = decided.await.unwrap_err();
        assert_eq!(decided.to_string(), error.to_string());
        let command = Command::builder("Fail").data("{}").build().unwrap();
        let executed = executor.execute(command, |_| {
            calls += 1;
            let error = error.clone();
            async { Err::<Append, _>(error) }
        });
        let executed = executed.await.unwrap_err();
        assert_eq!(executed.to_string(), error.to_string());
        assert_eq!(calls, 2);
    }
}
