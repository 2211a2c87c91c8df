//! A write from the caller's side: into the queue, and back with an answer.

use std::pin::pin;
use std::sync::Arc;

use group_commit::{Queue, SubmitError};
use tokio::time::sleep;
use uuid::Uuid;

use super::PostgresStore;
use super::json::{Place, unstorable};
use super::request::{Request, Verdict};
use super::writer::Writer;
use crate::text::invalid;
use crate::{Error, RecordedMessage, StreamWrite, Written};

impl PostgresStore {
    /// Commits what has been checked against the limits. `name` tells the path of a field that
    /// can't be stored.
    pub(super) async fn commit(
        &self,
        writes: Vec<StreamWrite>,
        name: impl Fn(Place) -> String,
    ) -> Result<Vec<Written>, Error> {
        let shared = &self.shared;
        let max_bytes = shared.config.limits.max_message_bytes;
        if let Some((place, problem)) = unstorable(&writes, max_bytes) {
            return Err(invalid(name(place))(problem));
        }
        let mut deadline = pin!(sleep(shared.config.write_timeout));
        let mut request = Request::new(writes, |category| shared.schema.lock_key(category));
        let ids = Arc::clone(&request.ids);
        let mut queue: &Queue<Writer> = &shared.queue;
        loop {
            match queue.submit_until(request, deadline.as_mut()).await {
                Ok(Verdict::Settled(result)) => return result,
                // Boxed: it is rare, and larger than all else that a write keeps.
                Ok(Verdict::Stored(stored)) => return Box::pin(self.compare(&stored)).await,
                Ok(Verdict::Locked(locked)) => {
                    request = locked;
                    queue = &shared.patient_queue;
                }
                Ok(Verdict::Again(again)) => request = again,
                Err(unsettled) => return Err(self.unsettled(unsettled, &ids)),
            }
        }
    }

    fn unsettled(&self, unsettled: SubmitError<Error>, ids: &[Uuid]) -> Error {
        match unsettled {
            SubmitError::Closed => Error::Closed,
            SubmitError::Refused(error) | SubmitError::Failed(error) => error,
            SubmitError::Panicked => Error::Panicked,
            SubmitError::OutcomeUnknown | SubmitError::Unknown(_) => {
                Error::OutcomeUnknown { ids: ids.to_vec() }
            }
            // Waiting for room and waiting for a commit are one wait to the caller.
            _ => Error::Timeout {
                operation: "write",
                limit: self.shared.config.write_timeout,
            },
        }
    }

    /// Answers a write of which at least one id is stored already. That may be by this very write,
    /// before its connection was lost: so while what is stored can't be read, nobody knows.
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
            return Err(Error::IdConflict { id });
        };
        let written = request
            .writes
            .iter()
            .flat_map(|write| write.messages.iter().map(move |message| (write, message)));
        let differs = all.iter().zip(written).find(|(stored, (write, message))| {
            !stored.has_content_of(write.stream.as_str(), message)
        });
        if let Some((other, _)) = differs {
            return Err(Error::IdConflict { id: other.id() });
        }
        let place = |message: &&RecordedMessage| Written {
            position: message.position(),
            global_position: message.global_position(),
        };
        Ok(all.iter().map(place).collect())
    }
}
