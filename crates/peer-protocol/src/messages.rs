//! The work of a peer that stores messages.

use crate::calls::{Caller, Outcome, make_calls};
use crate::{Answer, ContentSize, Dataset, Failure, Operation, Peer, Run};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The category of all streams.
const CATEGORY: &str = "enrollment";
/// Messages of a stream that is read.
const READ_MESSAGES: usize = 10;
/// Messages of one read of the category.
const CATEGORY_MESSAGES: u64 = 100;
/// Writers of a load at a time.
const LOADERS: usize = 64;

/// A store of messages, as its own documentation says to use it.
pub trait MessagePeer: Send + Sync + 'static {
    /// Whether calls block their thread. Then each caller has a thread, else it is a task.
    const BLOCKS: bool;

    /// Writes one message with JSON data, at any version of the stream.
    fn write_message(
        &self,
        stream: &str,
        message_type: &str,
        data: &[u8],
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Reads all messages of a stream, and returns their number.
    fn read_stream(&self, stream: &str) -> impl Future<Output = Result<u64, Failure>> + Send;

    /// Reads at most `limit` messages of a category from a global position, and returns their number.
    fn read_category(
        &self,
        category: &str,
        from: u64,
        limit: u64,
    ) -> impl Future<Output = Result<u64, Failure>> + Send;
}

/// A [`Peer`] that stores messages.
pub struct Messages<P> {
    shared: Arc<Shared<P>>,
    runs: u64,
}

struct Shared<P> {
    peer: P,
    dataset: Dataset,
    messages: usize,
    /// Messages of the load whose write has begun.
    loaded: AtomicUsize,
}

impl<P: MessagePeer> Messages<P> {
    /// A peer with this store, which is empty.
    pub fn new(peer: P) -> Self {
        let none = ContentSize {
            events: 0,
            payload_bytes: 0,
            seed: 0,
        };
        Self {
            shared: Arc::new(Shared {
                peer,
                dataset: Dataset::new(none),
                messages: 0,
                loaded: AtomicUsize::new(0),
            }),
            runs: 0,
        }
    }
}

impl<P: MessagePeer> Peer for Messages<P> {
    async fn prepare(&mut self, size: ContentSize) -> Result<Option<u64>, Failure> {
        let Some(shared) = Arc::get_mut(&mut self.shared) else {
            return Err(Failure::Other("a run has not ended".to_owned()));
        };
        shared.dataset = Dataset::new(size);
        shared.messages = size.events;
        let loaders = (0..LOADERS).map(|_| MessageCaller {
            shared: Arc::clone(&self.shared),
            work: Work::Load,
            random: StdRng::seed_from_u64(size.seed),
        });
        let load = Run {
            operation: Operation::WriteMessage,
            callers: LOADERS,
            seconds: f64::from(u32::MAX),
            limit: Some(size.events as u64),
        };
        match make_calls(&load, P::BLOCKS, loaders.collect())
            .await
            .failure
        {
            Some(reason) => Err(Failure::Other(reason)),
            None => Ok(Some(size.events as u64)),
        }
    }

    async fn run(&mut self, run: &Run) -> Answer {
        self.runs += 1;
        let callers = (0..run.callers).map(|number| MessageCaller {
            shared: Arc::clone(&self.shared),
            work: Work::Run(run.operation),
            random: StdRng::seed_from_u64(self.runs << 32 | number as u64),
        });
        make_calls(run, P::BLOCKS, callers.collect()).await
    }
}

/// The work of a caller.
enum Work {
    /// Fills each stream that is read with its messages, one after the other.
    Load,
    Run(Operation),
}

struct MessageCaller<P> {
    shared: Arc<Shared<P>>,
    work: Work,
    random: StdRng,
}

impl<P: MessagePeer> Caller for MessageCaller<P> {
    async fn call(&mut self, _: u64) -> Outcome {
        let Shared {
            peer,
            messages,
            loaded,
            ..
        } = &*self.shared;
        let streams = (messages / READ_MESSAGES).max(1);
        match self.work {
            Work::Load => {
                let message = loaded.fetch_add(1, Ordering::Relaxed);
                self.write(&format!("{CATEGORY}-{}", message % streams))
                    .await
            }
            Work::Run(Operation::WriteMessage) => {
                // Other streams than those that are read, which keep their length.
                let stream = self.random.random_range(0..streams);
                self.write(&format!("written-{stream}")).await
            }
            Work::Run(Operation::ReadStream) => {
                let stream = self.random.random_range(0..streams);
                let read = peer.read_stream(&format!("{CATEGORY}-{stream}")).await?;
                expect(read, *messages as u64 / streams as u64)
            }
            Work::Run(Operation::ReadCategory) => {
                let last = (*messages as u64).saturating_sub(CATEGORY_MESSAGES).max(1);
                let from = self.random.random_range(1..=last);
                let read = peer
                    .read_category(CATEGORY, from, CATEGORY_MESSAGES)
                    .await?;
                expect(read, CATEGORY_MESSAGES)
            }
            Work::Run(other) => Err(Failure::Other(format!(
                "a store of messages has no {other:?}"
            ))),
        }
    }
}

impl<P: MessagePeer> MessageCaller<P> {
    async fn write(&self, stream: &str) -> Outcome {
        let data = self.shared.dataset.data();
        self.shared
            .peer
            .write_message(stream, "StudentEnrolled", &data)
            .await
            .map(|()| 1)
    }
}

fn expect(read: u64, expected: u64) -> Outcome {
    if read >= expected {
        return Ok(read);
    }
    Err(Failure::Other(format!(
        "a read of {expected} messages found {read}"
    )))
}
