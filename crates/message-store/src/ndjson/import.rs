use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use store_fault::shared;
use tracing::instrument;

use super::checkpoint;
use super::line::Line;
use crate::{Checkpoint, Error, MessageStore, RecordedMessage};

/// Maximum number of lines per commit.
const BATCH_LINES: usize = 1000;
/// Size in bytes at which a batch is committed even if it has fewer messages.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum length of a line. Keeps an input without line feeds from using up the memory.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// The first byte of a gzip file. No line of JSON starts with it, so the second byte, which a slow
/// input may deliver later, need not be checked.
const GZIP_MAGIC: u8 = 0x1f;

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Messages read from the input.
    pub read: u64,
    /// Messages that this import stored. The others were already stored.
    pub stored: u64,
}

/// Stores the lines that [`export`](super::export) wrote, compressed or not: messages with their ids,
/// positions, global positions and times, and the checkpoints of consumers. `progress` is called after
/// each committed batch.
///
/// A checkpoint is saved after the messages before its line, unless the consumer has a later one. It is
/// refused if the store ends before it, or has another message there. To import without a checkpoint,
/// remove its line. The checkpoint of a message that was deleted before the export is saved without the
/// message's id.
///
/// After an interruption, import the same input again: stored messages are skipped. Reads from
/// `input` may block the calling task. Pass an input in memory, or call this where blocking is
/// allowed.
///
/// # Errors
/// [`Error::Import`] for a line that is neither a message nor a checkpoint, or that the store can't store;
/// [`Error::ImportConflict`] and the other errors of [`MessageStore::import_messages`];
/// [`Error::Io`] if `input` fails. Batches committed before the error stay stored.
#[instrument(level = "debug", name = "messages.import", skip_all)]
pub async fn import<S: MessageStore>(
    store: &S,
    input: impl BufRead,
    progress: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut input = input;
    if input.fill_buf()?.first() == Some(&GZIP_MAGIC) {
        store_lines(store, BufReader::new(MultiGzDecoder::new(input)), progress).await
    } else {
        store_lines(store, input, progress).await
    }
}

async fn store_lines<S: MessageStore>(
    store: &S,
    input: impl BufRead,
    mut progress: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut reader = LineReader::new(input);
    let mut imported = Imported::default();
    loop {
        let batch = reader.next_batch()?;
        if batch.messages.is_empty() && batch.checkpoints.is_empty() {
            return Ok(imported);
        }
        imported.read += batch.messages.len() as u64;
        let stored = store.import_messages(batch.messages).await;
        imported.stored += stored.map_err(|failed| with_line(failed, &batch.line_numbers))?;
        for (line, saved) in &batch.checkpoints {
            checkpoint::save(store, *line, saved).await?;
        }
        progress(imported);
    }
}

/// Turns an error about `messages[3].data` into one that names the line of that message.
fn with_line(failed: Error, line_numbers: &[u64]) -> Error {
    let Error::Invalid { field, problem } = &failed else {
        return failed;
    };
    let path = field.strip_prefix("messages[");
    let index_and_field = path.and_then(|path| path.split_once("]."));
    let line =
        index_and_field.and_then(|(index, _)| line_numbers.get(index.parse::<usize>().ok()?));
    match (index_and_field, line) {
        (Some((_, field)), Some(&line)) => Error::Import {
            line,
            source: shared(format!("{field} {problem}")),
        },
        _ => failed,
    }
}

/// The lines of one commit.
#[derive(Default)]
struct Batch {
    messages: Vec<RecordedMessage>,
    /// The line of each message.
    line_numbers: Vec<u64>,
    /// Checkpoints to save after the messages, with their lines.
    checkpoints: Vec<(u64, Checkpoint)>,
}

/// Reads line by line.
struct LineReader<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> LineReader<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// The next lines; none at the end of the input.
    fn next_batch(&mut self) -> Result<Batch, Error> {
        let (mut batch, mut bytes) = (Batch::default(), 0);
        while batch.messages.len() + batch.checkpoints.len() < BATCH_LINES && bytes < BATCH_BYTES {
            match self.next_line()? {
                None => break,
                Some(Line::Message(message)) => {
                    bytes += message.size_bytes();
                    batch.messages.push(message);
                    batch.line_numbers.push(self.number);
                }
                Some(Line::Checkpoint(checkpoint)) => {
                    batch.checkpoints.push((self.number, checkpoint));
                }
            }
        }
        Ok(batch)
    }

    /// The next line that is not empty.
    fn next_line(&mut self) -> Result<Option<Line>, Error> {
        loop {
            self.line.clear();
            let mut limited = self.input.by_ref().take(MAX_LINE_BYTES);
            if limited.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                let parsed = Line::parse(&self.line);
                return parsed.map(Some).map_err(|source| Error::Import {
                    line: self.number,
                    source: shared(source),
                });
            }
        }
    }
}
