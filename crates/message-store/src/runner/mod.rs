//! A consumer that goes on: through outages, and past messages that can't be handled.
//!
//! The checkpoint never passes a message that is neither handled nor set aside. So a crash can repeat
//! messages, but not lose one. `tests/it/runner` fails without this.

mod checkpoint;
mod failure;
mod follow;
mod handle;
mod options;
mod parked;
mod patience;
mod poison;
mod progress;
mod reader;
mod reference;
mod stop;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;

pub use failure::{Failure, HandlerError};
pub use options::RunOptions;
pub use progress::{Outage, Progress};
pub use reference::SetAside;

use checkpoint::Unsaved;
use parked::Parked;
use stop::Stop;

use crate::{Bookmark, Category, ConsumerGroup, Error, MessageStore, RecordedMessage, StreamName};

/// Handles the messages of a category in order, and goes on after outages and failures. Use it instead of
/// a [`Subscription`](crate::Subscription) for a consumer that must not end.
///
/// - **Checkpoint.** It is saved after 100 messages or 1 s ([`RunOptions`]) and at a graceful stop. A
///   new run continues after it. After a crash the messages since then are handled again, so a handler
///   must give the same result twice: write with ids that are derived from the message's id.
/// - **Outage.** If the store, or what the handler needs ([`Failure::Outage`]), is not available, the
///   runner waits and tries again. [`Progress::outage`] tells it.
/// - **Failure.** A message whose handler fails or panics is tried again, with growing pauses. After
///   [`RunOptions::max_tries`], [`RunOptions::on_failure`] says the way on. By default the runner skips the
///   message: it writes a copy to the stream `poison-<consumer>` and goes on. The copy has the message's type
///   and data; its metadata names the message, the error and the tries. Each message has one copy there, even
///   after a crash. A message that kills the process is not noticed. A copy that its handler can't handle
///   either is passed over: no consumer copies a copy. [`OnFailure::Park`](crate::OnFailure) keeps the order of
///   the stream: its later messages wait behind the one that failed, until [`MessageRunner::replay`].
///   [`MessageRunner::set_aside`] lists both.
/// - **Groups.** [`MessageRunner::group`] makes it one member of a consumer group. Each member has its
///   checkpoint, `<category>-<consumer>-<member>-of-<size>`.
/// - **Replaced past.** Each read checks that the store still has the last message that was read. After
///   a restore, or a failover to a replica that was behind, the run ends with [`Error::PastReplaced`] or
///   [`Error::AfterBeyondHead`], and so does each further run until you have chosen a way on: undo what
///   the handler did and [`MessageStore::delete_checkpoint`], or delete the checkpoint and save the last
///   global position that you trust. The README tells more.
/// - **Log.** `tracing` gets a warning when an outage begins, when a message fails for the first time,
///   when one is skipped or parked, and when checkpoints begin to take ten times their interval. It
///   gets an event at level info when the outage is over, when the message is handled, and when
///   checkpoints are in time again. Retries add none.
///
/// A runner reads from the primary, even if the store has a replica.
///
/// Start each consumer, or each member, once. A second runner of the same name handles the messages
/// again. A consumer that gets another category, or a group of another size without
/// [`MessageRunner::resized_from`], begins at the first message: its checkpoint has another name. To start a new consumer elsewhere than at the first message, call
/// [`MessageStore::save_checkpoint`] with [`MessageRunner::checkpoint_name`] before.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), message_store::Error> {
/// # #[cfg(feature = "sqlite")] {
/// use message_store::sqlite::{Config, SqliteStore};
/// use message_store::{Category, ExpectedVersion, Message, MessageRunner, MessageStore, StreamName};
///
/// let store = SqliteStore::open(Config::memory()).await?;
/// for order in 1..=3 {
///     let stream = StreamName::new(format!("order-{order}"))?;
///     let placed = Message::builder("Placed").data(&order).build()?;
///     store.write_message(&stream, placed, ExpectedVersion::NoStream).await?;
/// }
///
/// let orders = Category::new("order")?;
/// let mut invoices = MessageRunner::new(store.clone(), "invoices", orders, |message| async move {
///     let order: u32 = message.data()?;
///     if order == 2 {
///         return Err("order 2 has no customer".into());
///     }
///     Ok(())
/// })?;
/// invoices.catch_up().await?; // a service runs `run_until(signal)`
/// let progress = invoices.progress();
/// assert_eq!((progress.handled(), progress.poisoned(), progress.lag()), (2, 1, 0));
///
/// let poison = store.get_last_stream_message(invoices.poison_stream(), None).await?;
/// assert_eq!(poison.map(|copy| copy.data_json().to_owned()).as_deref(), Some("2"));
/// # }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MessageRunner<S, H> {
    consumer: Consumer<S>,
    handler: H,
}

/// Everything but the handler, which may not be shared between threads.
#[derive(Debug)]
struct Consumer<S> {
    store: S,
    name: String,
    category: Category,
    group: Option<ConsumerGroup>,
    /// The size of the group before it was resized.
    old_size: Option<u32>,
    poison_stream: StreamName,
    parked: Parked,
    options: RunOptions,
    progress: Progress,
    unsaved: Option<Unsaved>,
    /// The place that a member of a group has read to since its last checkpoint.
    read_to: Option<Bookmark>,
    /// Whether the last checkpoint was saved late.
    is_late: bool,
}

/// Why a run ended before its goal.
enum End {
    Stopped,
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<S, H, F> MessageRunner<S, H>
where
    S: MessageStore,
    H: FnMut(RecordedMessage) -> F + Send,
    F: Future<Output = Result<(), Failure>> + Send,
{
    /// Creates the runner of a consumer, for the messages of a category or
    /// [of all categories](Category::all). The handler gets one message after the other.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` if `poison-<consumer>` is not the name of a stream.
    pub fn new(
        store: S,
        consumer: impl Into<String>,
        category: Category,
        handler: H,
    ) -> Result<Self, Error> {
        let consumer = consumer.into();
        let own_stream = |category: &str| {
            let name = StreamName::new(format!("{category}-{consumer}"));
            name.map_err(|error| match error {
                Error::Invalid { problem, .. } => Error::Invalid {
                    field: "consumer".to_owned(),
                    problem,
                },
                other => other,
            })
        };
        let (poison_stream, parked_stream) = (own_stream("poison")?, own_stream("parked")?);
        let consumer = Consumer {
            store: store.for_follower(),
            name: consumer,
            category,
            group: None,
            old_size: None,
            poison_stream,
            parked: Parked::new(parked_stream),
            options: RunOptions::new(),
            progress: Progress::default(),
            unsaved: None,
            read_to: None,
            is_late: false,
        };
        Ok(Self { consumer, handler })
    }

    /// Handles only the streams of this member of a consumer group.
    ///
    /// To change a group's size, stop all members, and start those of the new size with
    /// [`MessageRunner::resized_from`].
    #[must_use]
    pub fn group(mut self, group: ConsumerGroup) -> Self {
        self.consumer.group = Some(group);
        self
    }

    /// Lets a member go on where a group of `old_size` members stopped, instead of at the first message: at
    /// the least checkpoint of the old members whose streams it may have. So it repeats messages that some of
    /// them had handled, and skips none. All old members must have stopped; one that was killed before it
    /// saved a checkpoint counts as one that has read nothing. Give the option in each run until the size
    /// changes again: it has no effect once the member is further. Without [`MessageRunner::group`] it has
    /// none either.
    #[must_use]
    pub fn resized_from(mut self, old_size: u32) -> Self {
        self.consumer.old_size = Some(old_size);
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.consumer.options = options;
        self
    }

    /// A handle to monitor the runner.
    pub fn progress(&self) -> Progress {
        self.consumer.progress.clone()
    }

    /// The stream of this consumer's poison messages, `poison-<consumer>`. The members of a group
    /// share it.
    pub fn poison_stream(&self) -> &StreamName {
        &self.consumer.poison_stream
    }

    /// The stream of the records of this consumer's parked messages, `parked-<consumer>`. The members of a
    /// group share it. Keep its records: without them the messages are forgotten.
    pub fn parked_stream(&self) -> &StreamName {
        &self.consumer.parked.stream
    }

    /// The name under which the checkpoint is saved: `<category>-<consumer>`, and for a member of a group
    /// `<category>-<consumer>-<member>-of-<size>`. It begins with the hyphen for all categories.
    pub fn checkpoint_name(&self) -> String {
        self.consumer.checkpoint_name()
    }

    /// Handles messages until an error occurs that a retry can't fix. If you drop the future, the
    /// running handler is dropped too, and the messages since the last saved checkpoint are handled
    /// again; [`MessageRunner::run_until`] stops without that.
    ///
    /// # Errors
    /// An error of [`MessageStore::checkpoint`], [`MessageStore::save_checkpoint`],
    /// [`MessageStore::head`], [`MessageStore::get_category_messages`] or
    /// [`MessageStore::write_message`] that is not transient, such as [`Fault::Closed`](crate::Fault),
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`]. With [`OnFailure::Stop`](crate::OnFailure), also [`Error::Handler`].
    pub async fn run(&mut self) -> Result<Infallible, Error> {
        loop {
            // Without a signal this never returns `Ok`. The loop only satisfies the return type.
            self.run_until(pending::<()>()).await?;
        }
    }

    /// Handles messages until the signal comes, such as `tokio::signal::ctrl_c()`. Then it finishes
    /// the handler that runs, saves the checkpoint and returns. A handler that is retried is not
    /// called again.
    ///
    /// # Errors
    /// As for [`MessageRunner::run`]. After the signal, any error of saving the checkpoint: it is tried
    /// once, and without it the next run repeats some messages.
    pub async fn run_until<T>(
        &mut self,
        signal: impl Future<Output = T> + Send,
    ) -> Result<(), Error> {
        let signal = pin!(async move { drop(signal.await) });
        let mut stop = Stop::new(signal);
        let ended = self.consumer.follow(&mut self.handler, None, &mut stop);
        let ended = ended.await;
        self.consumer.finish(ended).await
    }

    /// Handles all messages that the store has now, saves the checkpoint and returns, for example in
    /// a test or a nightly job.
    ///
    /// # Errors
    /// As for [`MessageRunner::run`].
    pub async fn catch_up(&mut self) -> Result<(), Error> {
        let never = pin!(pending());
        let mut stop = Stop::new(never);
        let ended = self.consumer.catch_up(&mut self.handler, &mut stop).await;
        self.consumer.finish(ended).await
    }

    /// The messages that this consumer has skipped or parked, by global position. Reads the whole poison
    /// stream.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn set_aside(&mut self) -> Result<Vec<SetAside>, Error> {
        self.consumer.set_aside().await
    }

    /// Handles the parked messages of a stream in order, and returns their number. Then the stream goes on.
    /// Call it on a second runner of the same name while the consumer runs, or when it does not run; in one
    /// program at a time. A parked message that was deleted since, as by retention, is passed over, with a
    /// warning in the log. A crash can repeat a message.
    ///
    /// # Errors
    /// [`Error::Handler`] if the handler fails again: this message and those behind it stay parked. Those of
    /// [`MessageRunner::run`].
    pub async fn replay(&mut self, stream: &StreamName) -> Result<u64, Error> {
        let never = pin!(pending());
        let mut stop = Stop::new(never);
        let mut replayed = 0;
        let (handler, consumer) = (&mut self.handler, &mut self.consumer);
        let ended = consumer.replay(handler, stream, &mut replayed, &mut stop);
        match ended.await {
            Err(End::Failed(error)) => Err(error),
            Ok(()) | Err(End::Stopped) => Ok(replayed),
        }
    }
}
