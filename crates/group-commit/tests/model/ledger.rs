//! A committer that checks the queue's guarantees, and each caller's outcome against the log.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use shuttle::rand::{Rng, thread_rng};

use crate::{Commit, CommitBlocking, CommitError, Outcome, SubmitError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// The committer refuses every batch with this request.
    Poison,
    /// The commit of every batch with this request fails.
    Fatal,
    /// The outcome of this request's batch is unknown.
    Vague,
    /// Panics.
    Bomb,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) id: u32,
    pub(crate) kind: Kind,
}

pub(crate) fn plain(id: u32) -> Request {
    Request {
        id,
        kind: Kind::Plain,
    }
}

/// A request of any kind. Half of the requests are plain.
pub(crate) fn any_kind(id: u32) -> Request {
    let kinds = [Kind::Poison, Kind::Fatal, Kind::Vague, Kind::Bomb];
    let kind = kinds
        .get(thread_rng().gen_range(0..8))
        .copied()
        .unwrap_or(Kind::Plain);
    Request { id, kind }
}

/// Writes ids in order. The verdict is the id, so each caller can check that it got its own.
///
/// Its state is under a `std` mutex. A mutex of shuttle would multiply the schedules by the order of
/// the checks, which does not matter.
#[derive(Default)]
pub(crate) struct Ledger {
    written: Mutex<Vec<u32>>,
    committing: AtomicBool,
    /// Failed checks, kept for `check`: the queue would catch an assertion in a commit as a panic.
    broken_promise: AtomicBool,
}

/// Held during a commit, and released by a commit that is dropped half-way.
struct Committing<'l>(&'l AtomicBool);

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Ledger {
    pub(crate) fn written(&self) -> Vec<u32> {
        self.written.lock().expect("no panic while locked").clone()
    }

    pub(crate) fn is_committing(&self) -> bool {
        self.committing.load(Ordering::SeqCst)
    }

    /// Checks that each request was written at most once and that its caller's outcome agrees with the log.
    pub(crate) fn check(&self, request: Request, outcome: Option<&Outcome<Self>>) {
        assert!(
            !self.broken_promise.load(Ordering::SeqCst),
            "an empty batch or two commits at once"
        );
        let times = self
            .written()
            .iter()
            .filter(|id| **id == request.id)
            .count();
        assert!(times <= 1, "{request:?} was written {times} times");
        match outcome {
            Some(Ok(verdict)) => assert_eq!((*verdict, times), (request.id, 1), "{request:?}"),
            Some(Err(error)) if !error.may_have_been_written() => {
                assert_eq!(
                    times, 0,
                    "{request:?} was written despite the error: {error}"
                );
            }
            Some(Err(_)) | None => {}
        }
        match (request.kind, outcome) {
            (Kind::Poison, Some(outcome)) => assert!(outcome.is_err(), "{outcome:?}"),
            (_, Some(Err(SubmitError::Refused(culprit)))) => {
                panic!("{request:?} got the error of request {culprit}")
            }
            _ => {}
        }
    }

    /// The ids of one caller are written in the order in which it submitted them.
    pub(crate) fn check_order(&self, ids: std::ops::Range<u32>) {
        let written: Vec<_> = self
            .written()
            .into_iter()
            .filter(|id| ids.contains(id))
            .collect();
        assert!(written.is_sorted(), "out of order: {written:?}");
    }

    fn enter(&self, batch: &[Request]) -> Committing<'_> {
        if self.committing.swap(true, Ordering::SeqCst) || batch.is_empty() {
            self.broken_promise.store(true, Ordering::SeqCst);
        }
        Committing(&self.committing)
    }

    fn write(&self, batch: &[Request]) -> Result<Vec<u32>, CommitError<u32>> {
        let find = |kind| batch.iter().find(|request| request.kind == kind);
        if find(Kind::Bomb).is_some() {
            // Unlike `panic!`, this does not run the hook, which would print a schedule.
            std::panic::resume_unwind(Box::new("bomb"));
        }
        if let Some(poison) = find(Kind::Poison) {
            return Err(CommitError::Refused(poison.id));
        }
        if let Some(fatal) = find(Kind::Fatal) {
            return Err(CommitError::Failed(fatal.id));
        }
        if let Some(vague) = find(Kind::Vague) {
            return Err(CommitError::Unknown(vague.id));
        }
        let ids: Vec<_> = batch.iter().map(|request| request.id).collect();
        self.written
            .lock()
            .expect("no panic while locked")
            .extend(&ids);
        Ok(ids)
    }
}

impl Commit for Ledger {
    type Request = Request;
    type Verdict = u32;
    type Error = u32;

    fn size_bytes(&self, _request: &Request) -> usize {
        1
    }

    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<u32>, CommitError<u32>> {
        let _committing = self.enter(batch);
        for _ in 0..thread_rng().gen_range(0..3) {
            shuttle::future::yield_now().await;
        }
        self.write(batch)
    }
}

impl CommitBlocking for Ledger {
    type Request = Request;
    type Verdict = u32;
    type Error = u32;

    fn size_bytes(&self, _request: &Request) -> usize {
        1
    }

    fn commit(&self, batch: &mut [Request]) -> Result<Vec<u32>, CommitError<u32>> {
        let _committing = self.enter(batch);
        for _ in 0..thread_rng().gen_range(0..3) {
            shuttle::thread::yield_now();
        }
        self.write(batch)
    }
}
