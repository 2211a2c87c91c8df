//! The caller's side of a write: submits the request and handles its verdict.

use std::pin::pin;
use std::sync::Arc;

use group_commit::Queue;
use postgres_store::{deadline_after, send_before};
use tokio::time::{sleep_until, timeout_at};
use uuid::Uuid;

use super::PostgresStore;
use super::json::{FieldPath, find_unstorable};
use super::request::{Request, Verdict};
use super::schema::lock_key;
use super::writer::Writer;
use crate::text::invalid;
use crate::trace::stamped;
use crate::{Error, RecordedMessage, StreamWrite, Written};

impl PostgresStore {
    /// Commits writes that passed the limits. `name` formats the path of a field that can't be
    /// stored, for the error.
    pub(super) async fn commit(
        &self,
        mut writes: Vec<StreamWrite>,
        name: impl Fn(FieldPath) -> String,
    ) -> Result<Vec<Written>, Error> {
        let shared = &self.shared;
        let max_bytes = shared.config.limits.max_message_bytes;
        if let Some((path, problem)) = find_unstorable(&writes, max_bytes) {
            return Err(invalid(name(path))(problem));
        }
        for write in &mut writes {
            let messages = std::mem::take(&mut write.messages).into_iter();
            write.messages = messages.map(stamped).collect();
        }
        let metrics = &shared.counters.metrics;
        let _waiting = metrics.store().begins();
        let ended = self.commit_checked(writes).await;
        metrics.write_ended(&ended);
        ended
    }

    async fn commit_checked(&self, writes: Vec<StreamWrite>) -> Result<Vec<Written>, Error> {
        let shared = &self.shared;
        // One deadline for all rounds of the loop.
        let begun = std::time::Instant::now();
        let end = deadline_after(shared.config.write_timeout);
        let mut deadline = pin!(sleep_until(end));
        let lock = |category: &str| lock_key(&shared.schema, category);
        let last = send_before(end, shared.config.write_timeout);
        let mut request = Request::new(writes, lock, end, last);
        let ids = Arc::clone(&request.ids);
        let mut queue: &Queue<Writer> = &shared.queue;
        loop {
            match queue.submit_until(request, deadline.as_mut()).await {
                Ok(Verdict::Done(result)) => return result,
                // Boxed, because this future is rarely needed but larger than the rest of the
                // write.
                Ok(Verdict::Stored(stored)) => {
                    let compared = timeout_at(end, self.compare(&stored));
                    let unknown = Err(Error::OutcomeUnknown { ids: ids.to_vec() });
                    return Box::pin(compared).await.unwrap_or(unknown);
                }
                Ok(Verdict::Locked(locked)) => {
                    request = locked;
                    queue = &shared.lock_wait_queue;
                }
                Ok(Verdict::Again(again)) => request = again,
                Err(failed) => {
                    let call = (begun, "write", shared.config.write_timeout);
                    let unknown = || Error::OutcomeUnknown { ids: ids.to_vec() };
                    let readers = shared.readers.primary();
                    return Err(readers.without_verdict(failed, call, unknown));
                }
            }
        }
    }

    /// Answers a write with at least one stored id. This same write may have stored it before its
    /// connection was lost, so if the stored messages can't be read, the outcome is unknown.
    async fn compare(&self, request: &Request) -> Result<Vec<Written>, Error> {
        let stored = self.messages_by_id(&request.ids).await;
        let stored = stored.map_err(|_| Error::OutcomeUnknown {
            ids: request.ids.to_vec(),
        })?;
        let with_id = |id: &Uuid| stored.iter().find(|message| message.id() == *id);
        let found: Vec<Option<&RecordedMessage>> = request.ids.iter().map(with_id).collect();
        let Some(all) = found.iter().copied().collect::<Option<Vec<_>>>() else {
            let first = found.iter().flatten().next();
            let id = first.map_or(request.ids[0], |message| message.id());
            return Err(Error::DuplicateId { id });
        };
        let messages = request
            .writes
            .iter()
            .flat_map(|write| write.messages.iter().map(move |message| (write, message)));
        let differs = all.iter().zip(messages).find(|(stored, (write, message))| {
            !stored.has_content_of(write.stream.as_str(), message)
        });
        if let Some((other, _)) = differs {
            return Err(Error::DuplicateId { id: other.id() });
        }
        let written = |message: &&RecordedMessage| Written {
            position: message.position(),
            global_position: message.global_position(),
        };
        Ok(all.iter().map(written).collect())
    }
}
