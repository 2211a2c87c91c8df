use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::instrument;

use super::line;
use crate::{Category, CategoryRead, Error, GlobalPosition, MessageStore};

/// Messages per read, which is also the maximum in memory.
const PAGE_MESSAGES: u64 = 500;

/// Options of [`export`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// The category to export. Default: all messages.
    pub category: Category,
    /// The first global position. Default: 1.
    pub from: GlobalPosition,
    /// Whether to compress with gzip. Default: no.
    pub gzip: bool,
}

/// Writes messages as lines of JSON (see [`ndjson`](crate::ndjson)) and returns their number. The export
/// reads the store's head when it starts and ends there. After each page, it calls `progress` with the
/// number of messages so far.
///
/// Data and metadata are as the store returns them, and the time is in UTC. If the store reads from a
/// replica that is behind, the export lacks the newest messages.
///
/// An export of all categories ends with the checkpoints that consumers had when it started. Stop
/// the consumers first: messages that they handle during the export are handled again in the new store.
///
/// Writes to `output` may block the calling task. Pass a buffer in memory, or call this where
/// blocking is allowed.
///
/// # Errors
/// The errors of [`MessageStore::head`], [`MessageStore::get_category_messages`] and
/// [`MessageStore::all_checkpoints`], and [`Error::Io`] if `output` fails.
#[instrument(level = "debug", name = "messages.export", skip_all)]
pub async fn export<S: MessageStore>(
    store: &S,
    output: impl Write,
    options: ExportOptions,
    progress: impl FnMut(u64),
) -> Result<u64, Error> {
    if !options.gzip {
        let mut output = output;
        let exported = write_lines(store, &mut output, options, progress).await?;
        output.flush()?;
        return Ok(exported);
    }
    let mut output = GzEncoder::new(output, Compression::fast());
    let exported = write_lines(store, &mut output, options, progress).await?;
    output.finish()?.flush()?;
    Ok(exported)
}

async fn write_lines<S: MessageStore>(
    store: &S,
    output: &mut impl Write,
    options: ExportOptions,
    progress: impl FnMut(u64),
) -> Result<u64, Error> {
    // Read before the head, so that no checkpoint is beyond the last message.
    let checkpoints = match options.category.is_all() {
        true => store.all_checkpoints().await?,
        false => Vec::new(),
    };
    let exported = write_messages(store, output, options, progress).await?;
    for checkpoint in checkpoints {
        line::write_checkpoint(output, checkpoint)?;
    }
    Ok(exported)
}

async fn write_messages<S: MessageStore>(
    store: &S,
    output: &mut impl Write,
    options: ExportOptions,
    mut progress: impl FnMut(u64),
) -> Result<u64, Error> {
    let Some(head) = store.head().await? else {
        return Ok(0);
    };
    let (mut exported, mut next, mut lines) = (0, options.from, Vec::new());
    // Stop at the head read at the start: while others write, the newest head could keep moving out
    // of reach.
    let end = head.position;
    while next <= end {
        let read = CategoryRead::new().position(next).batch_size(PAGE_MESSAGES);
        let page = store.get_category_messages(&options.category, read).await?;
        let Some(last) = page.last() else { break };
        next = last.global_position().next();
        lines.clear();
        for message in page
            .iter()
            .filter(|message| message.global_position() <= end)
        {
            line::write_message(&mut lines, message)?;
            exported += 1;
        }
        output.write_all(&lines)?;
        progress(exported);
    }
    Ok(exported)
}
