use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use tracing::instrument;

use super::line;
use crate::error::shared;
use crate::{Error, MessageStore, RecordedMessage};

/// Maximum number of messages per commit.
const BATCH_MESSAGES: usize = 1000;
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

/// Stores the lines that [`export`](super::export) wrote, compressed or not, with
/// their ids, positions, global positions and times. `progress` is called after each committed
/// batch.
///
/// After an interruption, import the same input again: stored messages are skipped. Reads from
/// `input` may block the calling task. Pass an input in memory, or call this where blocking is
/// allowed.
///
/// # Errors
/// [`Error::Import`] for a line that is not a message or that the store can't store;
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
        let (batch, line_numbers) = reader.next_batch()?;
        if batch.is_empty() {
            return Ok(imported);
        }
        imported.read += batch.len() as u64;
        let stored = store.import_messages(batch).await;
        imported.stored += stored.map_err(|failed| with_line(failed, &line_numbers))?;
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

/// Reads messages line by line.
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

    /// The messages of the next commit and their line numbers. Both lists are empty at the end of
    /// the input.
    fn next_batch(&mut self) -> Result<(Vec<RecordedMessage>, Vec<u64>), Error> {
        let (mut batch, mut line_numbers, mut bytes) = (Vec::new(), Vec::new(), 0);
        while batch.len() < BATCH_MESSAGES && bytes < BATCH_BYTES {
            let Some(message) = self.next_message()? else {
                break;
            };
            bytes += message.size_bytes();
            batch.push(message);
            line_numbers.push(self.number);
        }
        Ok((batch, line_numbers))
    }

    /// The next message. Skips empty lines.
    fn next_message(&mut self) -> Result<Option<RecordedMessage>, Error> {
        loop {
            self.line.clear();
            let mut limited = self.input.by_ref().take(MAX_LINE_BYTES);
            if limited.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                let parsed = line::parse(&self.line);
                return parsed.map(Some).map_err(|source| Error::Import {
                    line: self.number,
                    source: shared(source),
                });
            }
        }
    }
}
