//! An append on the caller's side: into the queue, and back with a result.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use postgres_store::{deadline_after, send_before};
use tokio::time::{Instant, sleep_until, timeout_at};
use uuid::Uuid;

use super::PostgresStore;
use super::request::{Request, Verdict};
use crate::{Append, Appended, Error, Fault, SequencedEvent};

impl PostgresStore {
    // Not an `async fn`: the future would hold both the append and the request made from it.
    pub(super) fn commit(
        &self,
        append: Append,
    ) -> impl Future<Output = Result<Appended, Error>> + Send {
        let checked = self.shared.config.limits.check(&append);
        let request = checked.map(|()| Request::new(append));
        async move {
            let (metrics, request) = (&self.shared.counters.metrics, request?);
            let _waiting = metrics.store().begins();
            let ended = self.commit_request(request).await;
            metrics.append_ended(&ended);
            ended
        }
    }

    async fn commit_request(&self, mut request: Arc<Request>) -> Result<Appended, Error> {
        let begun = std::time::Instant::now();
        let deadline = self.write_deadline(&request);
        if let Some(request) = Arc::get_mut(&mut request) {
            request.deadline = Some(deadline);
            request.send_before = Some(send_before(deadline, self.shared.config.write_timeout));
        }
        let mut deadline = pin!(sleep_until(deadline));
        // Repeats only for `Verdict::Again`; the deadline bounds all attempts together.
        loop {
            match self
                .shared
                .queue
                .submit_until(Arc::clone(&request), deadline.as_mut())
                .await
            {
                Ok(Verdict::Done(result)) => {
                    match &result {
                        Ok(appended) => {
                            self.shared
                                .readers
                                .primary()
                                .observe_head(Some(appended.last()));
                            self.shared.appends.notify();
                        }
                        Err(_) => self.count_conflict(&result),
                    }
                    return result;
                }
                // Boxed, because it is rare, and ten times as large as the rest of the future.
                Ok(Verdict::Stored) => {
                    let compared = timeout_at(deadline.deadline(), self.compare(&request));
                    let unknown = Err(Error::OutcomeUnknown {
                        ids: request.ids.to_vec(),
                    });
                    return Box::pin(compared).await.unwrap_or(unknown);
                }
                Ok(Verdict::Again) => {}
                Err(failed) => {
                    let call = (begun, "append", self.shared.config.write_timeout);
                    let unknown = || Error::OutcomeUnknown {
                        ids: request.ids.to_vec(),
                    };
                    let readers = self.shared.readers.primary();
                    return Err(readers.without_verdict(failed, call, unknown));
                }
            }
        }
    }

    /// The end of an append's time: that of the store's limit, or of the caller's if it is earlier.
    fn write_deadline(&self, request: &Request) -> Instant {
        let limit = self.shared.config.write_timeout;
        // Less time is not enough to send a statement and to learn its outcome.
        let least = deadline_after(limit / 10 * 3);
        let wanted = request.append.deadline.map(Instant::from_std);
        let end = deadline_after(limit);
        wanted.map_or(end, |wanted| end.min(wanted.max(least)))
    }

    fn count_conflict(&self, result: &Result<Appended, Error>) {
        if let Err(Error::Conflict { .. }) = result {
            self.shared
                .counters
                .conflicts
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The result of an append when at least one of its ids is already in the log. An earlier try
    /// of the same append may have stored the events before the connection was lost. So if the
    /// stored events can't be read, the outcome is unknown.
    async fn compare(&self, request: &Request) -> Result<Appended, Error> {
        match self.events_by_id(&request.ids).await {
            Ok(stored) => found_before(request, &stored),
            Err(failed)
                if failed.is_transient() || matches!(failed, Error::Fault(Fault::Closed)) =>
            {
                Err(Error::OutcomeUnknown {
                    ids: request.ids.to_vec(),
                })
            }
            Err(failed) => Err(failed),
        }
    }
}

/// The result of an append when at least one of its ids is already in the log. `stored` has the
/// events with these ids. The append succeeds if all of its events are stored with the same
/// content.
pub(super) fn found_before(
    request: &Request,
    stored: &[SequencedEvent],
) -> Result<Appended, Error> {
    let with_id = |id: &Uuid| stored.iter().find(|event| event.id() == *id);
    let stored: Vec<Option<&SequencedEvent>> = request.ids.iter().map(with_id).collect();
    let Some(all) = stored.iter().copied().collect::<Option<Vec<_>>>() else {
        let first = stored.iter().flatten().next();
        return Err(duplicate(first.map_or(request.ids[0], |event| event.id())));
    };
    let differs = all
        .iter()
        .zip(&request.append.events)
        .find(|(stored, event)| !stored.has_content_of(event));
    if let Some((other, _)) = differs {
        return Err(duplicate(other.id()));
    }
    let positions = all.iter().map(|event| event.position()).collect();
    Appended::found(positions).ok_or_else(|| duplicate(request.ids[0]))
}

fn duplicate(id: Uuid) -> Error {
    Error::DuplicateId { id }
}
