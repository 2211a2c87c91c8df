use std::collections::BTreeMap;

use message_store::{
    AnyStore, Bookmark, Category, CategoryRead, GlobalPosition, MessageStore as _, RecordedMessage,
    ndjson, same_json,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use super::{Compared, pipe};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;

/// Messages per read.
const PAGE: u64 = 500;

/// The message stores of a move.
pub(super) struct MessagesMove {
    pub(super) from: AnyStore,
    pub(super) to: AnyStore,
}

impl MessagesMove {
    /// Copies the messages that the target lacks, and the checkpoints.
    pub(super) async fn copy(&self) -> Result<u64, Failure> {
        let at = self.to.head().await?;
        // The source checks that it has, or had, the last message of the target.
        let checked = CategoryRead::new().start(at).batch_size(0);
        let checked = self
            .from
            .get_category_messages(&Category::all(), checked)
            .await;
        checked.map_err(|failed| {
            let failed = Failure::from(failed);
            match failed.kind {
                Kind::Refused => {
                    failed.in_context("the target has messages that the source does not have")
                }
                _ => failed,
            }
        })?;
        let (from, to) = (self.from.clone(), self.to.clone());
        let runtime = Handle::current();
        let importing = runtime.clone();
        let progress = Progress::new("messages", None);
        let imported = pipe::through(
            move |mut out| {
                let mut options = ndjson::ExportOptions::default();
                options.from = at.map_or(GlobalPosition::START, |at| at.position.next());
                runtime.block_on(ndjson::export(&from, &mut out, options, |_| {}))?;
                Ok(())
            },
            move |input| {
                let report = |so_far: ndjson::Imported| progress.set(so_far.read);
                Ok(importing.block_on(ndjson::import(&to, input, report))?)
            },
        );
        Ok(imported.await?.stored)
    }

    /// Compares both stores up to the head of the target, and the checkpoints up to it.
    pub(super) async fn compare(&self) -> Result<Compared, Failure> {
        let through = number(self.to.head().await?);
        let mut hash = Sha256::new();
        let progress = Progress::new("compared", None);
        let mut next = GlobalPosition::START;
        let mut compared = 0;
        while next.get() <= through {
            let source = page(&self.from, next, through).await?;
            let target = page(&self.to, next, through).await?;
            let differs = source.len() != target.len()
                || source
                    .iter()
                    .zip(&target)
                    .any(|(one, other)| !is_same(one, other));
            if differs {
                return Err(Failure::refused(format!(
                    "the messages from global position {next} on are not the same in both stores"
                )));
            }
            let Some(last) = target.last() else { break };
            next = last.global_position().next();
            target.iter().for_each(|message| add(&mut hash, message));
            compared += target.len() as u64;
            progress.set(compared);
        }
        self.compare_checkpoints(through, &mut hash).await?;
        let behind = number(self.from.head().await?).saturating_sub(through);
        Ok(Compared {
            through,
            behind,
            sha256: hex::encode(hash.finalize()),
        })
    }

    async fn compare_checkpoints(&self, through: u64, hash: &mut Sha256) -> Result<(), Failure> {
        let target = self.to.all_checkpoints().await?;
        for checkpoint in self.from.all_checkpoints().await? {
            let (consumer, handled) = (&checkpoint.consumer, checkpoint.handled.position);
            let copied = target.iter().find(|other| other.consumer == *consumer);
            // One that is beyond, or has moved since the copy, is copied with the next round.
            let is_copied = copied.is_some_and(|copied| copied.handled.position <= handled);
            if handled.get() <= through && !is_copied {
                return Err(Failure::refused(format!(
                    "the checkpoint of consumer {consumer:?} is not the same in both stores"
                )));
            }
        }
        for checkpoint in target {
            let (consumer, handled) = (checkpoint.consumer, checkpoint.handled.position);
            hash.update(format!("{handled} {consumer}\n"));
        }
        Ok(())
    }
}

async fn page(
    store: &AnyStore,
    from: GlobalPosition,
    through: u64,
) -> Result<Vec<RecordedMessage>, Failure> {
    let read = CategoryRead::new().position(from).batch_size(PAGE);
    let mut page = store.get_category_messages(&Category::all(), read).await?;
    page.retain(|message| message.global_position().get() <= through);
    Ok(page)
}

/// Whether two messages have the same content, all positions, id and time. The backends write the same
/// JSON in different ways.
fn is_same(one: &RecordedMessage, other: &RecordedMessage) -> bool {
    let place = |message: &RecordedMessage| {
        let position = message.position();
        (
            message.id(),
            position,
            message.global_position(),
            message.time_us(),
        )
    };
    place(one) == place(other)
        && one.stream_name() == other.stream_name()
        && one.message_type() == other.message_type()
        && same_json(one.data_json(), other.data_json())
        && match (one.metadata_json(), other.metadata_json()) {
            (Some(one), Some(other)) => same_json(one, other),
            (one, other) => one == other,
        }
}

/// Adds a message to the hash.
fn add(hash: &mut Sha256, message: &RecordedMessage) {
    let (id, position) = (message.id(), message.position());
    let (global_position, time_us) = (message.global_position(), message.time_us());
    hash.update(format!("{global_position} {position} {id} {time_us}\n"));
    for text in [message.stream_name(), message.message_type()] {
        hash.update(format!("{text:?}\n"));
    }
    for json in [Some(message.data_json()), message.metadata_json()] {
        match json.map(serde_json::from_str) {
            Some(Ok(value)) => add_json(hash, &value),
            Some(Err(_)) | None => hash.update("-"),
        }
        hash.update("\n");
    }
}

/// Adds a value without what a backend may change: white space, the order of keys, and how a number is
/// written.
fn add_json(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Number(number) => hash.update(format!("{:?} ", number.as_f64())),
        Value::Array(values) => {
            hash.update("[");
            values.iter().for_each(|value| add_json(hash, value));
            hash.update("]");
        }
        Value::Object(entries) => {
            let sorted: BTreeMap<_, _> = entries.iter().collect();
            hash.update("{");
            for (key, value) in sorted {
                hash.update(format!("{key:?} "));
                add_json(hash, value);
            }
            hash.update("}");
        }
        Value::Null | Value::Bool(_) | Value::String(_) => hash.update(format!("{value} ")),
    }
}

fn number(bookmark: Option<Bookmark>) -> u64 {
    bookmark.map_or(0, |bookmark| bookmark.position.get())
}
