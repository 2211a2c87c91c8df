use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::instrument;

use super::line;
use crate::{Category, CategoryRead, Error, GlobalPosition, MessageStore};

/// Messages held at once.
const PAGE: u64 = 500;

/// What to export, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// The category, or all messages, which is the default.
    pub category: Category,
    /// The first global position. Default: 1.
    pub from: GlobalPosition,
    /// Whether to compress. Default: no.
    pub gzip: bool,
}

/// Writes messages as lines of JSON, up to the head at the start, and returns how many. `progress`
/// is told the number so far after each page.
///
/// A line has `id`, `stream`, `type`, `pos`, `gpos`, `data`, `meta` and `time`; data and metadata
/// as the store returns them, the time in UTC. A category is read where the store reads categories:
/// a replica that is behind leaves out what it does not have yet. `output` is written to in the
/// caller's task: hand in what buffers, or call this where blocking is allowed.
///
/// # Errors
/// What the store met, and [`Error::Io`] where `output` fails.
#[instrument(level = "debug", name = "messages.export", skip_all)]
pub async fn export_ndjson<S: MessageStore>(
    store: &S,
    output: impl Write,
    options: ExportOptions,
    progress: impl FnMut(u64),
) -> Result<u64, Error> {
    if !options.gzip {
        let mut output = output;
        let exported = export(store, &mut output, options, progress).await?;
        output.flush()?;
        return Ok(exported);
    }
    let mut output = GzEncoder::new(output, Compression::fast());
    let exported = export(store, &mut output, options, progress).await?;
    output.finish()?.flush()?;
    Ok(exported)
}

async fn export<S: MessageStore>(
    store: &S,
    output: &mut impl Write,
    options: ExportOptions,
    mut progress: impl FnMut(u64),
) -> Result<u64, Error> {
    let Some(head) = store.head().await? else {
        return Ok(0);
    };
    let (mut exported, mut next, mut lines) = (0, options.from, Vec::new());
    while next <= head {
        let read = CategoryRead::new().position(next).batch_size(PAGE);
        let page = store.get_category_messages(&options.category, read).await?;
        let Some(last) = page.last() else { break };
        next = last.global_position().next();
        lines.clear();
        for message in page.iter().filter(|own| own.global_position() <= head) {
            line::write(&mut lines, message)?;
            exported += 1;
        }
        output.write_all(&lines)?;
        progress(exported);
    }
    Ok(exported)
}
