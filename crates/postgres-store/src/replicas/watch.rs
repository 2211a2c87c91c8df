//! The tasks that watch the primary and each replica.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Error, Row as _, SqlStr};
use tokio::time::{sleep, timeout};

use super::{Replica, Shared, State, Watching};
use crate::connect::connect;
use crate::failure::{code_and_message, failure};
use crate::hosts::Hosts;
use crate::statement::no_answer;

/// How often a server is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How often a replica is asked that is about to catch up.
const SOON: Duration = Duration::from_millis(100);
/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// Starts the tasks. They end when the replicas are dropped or their pools are closed.
pub(super) async fn start<T: Send + Sync + 'static>(shared: &Arc<Shared<T>>, watching: Watching) {
    let mut primary = Watched::new(watching.primary, watching.primary_progress);
    // Before the replicas, which are compared with it.
    note_primary(shared, &mut primary).await;
    tokio::spawn(watch_primary(Arc::downgrade(shared), primary));
    for replica in &shared.each {
        let watched = Watched::new(replica.hosts.clone(), watching.replica_progress.clone());
        let (shared, replica) = (Arc::downgrade(shared), Arc::downgrade(replica));
        tokio::spawn(watch_replica(shared, replica, watched));
    }
    for replica in &shared.each {
        let mut state = replica.state.subscribe();
        // The sender is alive.
        let _ = state.wait_for(|state| *state != State::Unknown).await;
    }
}

async fn watch_primary<T>(shared: Weak<Shared<T>>, mut primary: Watched) {
    loop {
        sleep(EVERY).await;
        match shared.upgrade() {
            Some(shared) if !shared.is_closed() => note_primary(&shared, &mut primary).await,
            _ => return,
        }
    }
}

/// Notes the primary's progress, unless the primary does not answer.
async fn note_primary<T>(shared: &Shared<T>, primary: &mut Watched) {
    let asked = Instant::now();
    if let Ok(Some(progress)) = primary.progress().await {
        shared.primary.lock().note(asked, progress);
    }
}

async fn watch_replica<T>(
    shared: Weak<Shared<T>>,
    replica: Weak<Replica<T>>,
    mut watched: Watched,
) {
    loop {
        let progress = watched.progress().await;
        let (Some(shared), Some(replica)) = (shared.upgrade(), replica.upgrade()) else {
            return;
        };
        if shared.is_closed() {
            return;
        }
        let state = match progress {
            Ok(progress) => {
                // Not NULL, unless the replica is no standby.
                let progress = progress.unwrap_or(u64::MAX);
                replica.note_progress(progress);
                let required = shared.primary.lock().required();
                if progress >= required {
                    State::InUse
                } else {
                    State::Behind
                }
            }
            // It answers, but has no such database, no such table, or no session for the store.
            Err(failed) if code_and_message(&failed).0.is_some() => State::Behind,
            Err(_) => State::Gone,
        };
        replica.set(state);
        drop((shared, replica));
        sleep(if state == State::Behind { SOON } else { EVERY }).await;
    }
}

impl<T> Shared<T> {
    fn is_closed(&self) -> bool {
        self.each.iter().any(|replica| replica.pool.is_closed())
    }
}

/// A server that is asked for its progress again and again.
struct Watched {
    hosts: Hosts,
    progress: SqlStr,
    connection: Option<PgConnection>,
}

impl Watched {
    fn new(hosts: Hosts, progress: SqlStr) -> Self {
        Self {
            hosts,
            progress,
            connection: None,
        }
    }

    /// The progress of the server, in time.
    async fn progress(&mut self) -> Result<Option<u64>, Error> {
        let answer = timeout(ANSWER, self.ask_twice()).await;
        let answer = answer.unwrap_or_else(|_| Err(no_answer()));
        if matches!(&answer, Err(failed) if failure(failed).ends_session()) {
            self.connection = None;
        }
        answer
    }

    /// Asks again over another connection if the old one was lost.
    async fn ask_twice(&mut self) -> Result<Option<u64>, Error> {
        let was_open = self.connection.is_some();
        match self.ask().await {
            Err(failed) if was_open && failure(&failed).ends_session() => {
                self.connection = None;
                self.ask().await
            }
            answer => answer,
        }
    }

    async fn ask(&mut self) -> Result<Option<u64>, Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            closed => closed.insert(connect(&self.hosts).await?),
        };
        // As one message, because a pooler may send two of them to different server processes.
        let asked = sqlx::raw_sql(self.progress.clone()).fetch_one(connection);
        let progress: Option<i64> = asked.await?.try_get(0)?;
        Ok(progress.map(i64::unsigned_abs))
    }
}
