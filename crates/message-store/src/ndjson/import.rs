use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use tracing::instrument;

use super::line;
use crate::{Error, MessageStore, RecordedMessage};

/// Messages stored by one commit, and about how many bytes of them.
const PART_MESSAGES: usize = 1000;
const PART_BYTES: usize = 8 << 20;
/// No message is longer as a line.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// What a gzip file begins with, and no line. The second byte may come later.
const GZIP_MAGIC: u8 = 0x1f;

/// What an import came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many messages were read.
    pub read: u64,
    /// How many were stored; the others were there already.
    pub stored: u64,
}

/// Stores the lines that [`export_ndjson`](crate::export_ndjson) wrote, compressed or not, with
/// their ids, positions, global positions and times. `progress` is told after each part.
///
/// An import that broke off is begun again from the start: what is stored is skipped. `input` is
/// read in the caller's task: hand in what is at hand, or call this where blocking is allowed.
///
/// # Errors
/// [`Error::InvalidLine`], also where the store can't take what is in a line,
/// [`Error::ImportConflict`] as [`MessageStore::import_messages`] says, [`Error::Io`] where `input`
/// fails; what came in the parts before is stored.
#[instrument(level = "debug", name = "messages.import_ndjson", skip_all)]
pub async fn import_ndjson<S: MessageStore>(
    store: &S,
    input: impl BufRead,
    progress: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut input = input;
    if input.fill_buf()?.first() == Some(&GZIP_MAGIC) {
        import(store, BufReader::new(MultiGzDecoder::new(input)), progress).await
    } else {
        import(store, input, progress).await
    }
}

async fn import<S: MessageStore>(
    store: &S,
    input: impl BufRead,
    mut progress: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut lines = Lines::new(input);
    let mut imported = Imported::default();
    loop {
        let (part, numbers) = lines.part()?;
        if part.is_empty() {
            return Ok(imported);
        }
        imported.read += part.len() as u64;
        let stored = store.import_messages(part).await;
        imported.stored += stored.map_err(|failed| in_line(failed, &numbers))?;
        progress(imported);
    }
}

/// Names the line of a message that the store can't take, as in `messages[3].data`.
fn in_line(failed: Error, numbers: &[u64]) -> Error {
    let Error::Invalid { field, problem } = &failed else {
        return failed;
    };
    let path = field.strip_prefix("messages[");
    let place = path.and_then(|path| path.split_once("]."));
    let line = place.and_then(|(index, _)| numbers.get(index.parse::<usize>().ok()?));
    match (place, line) {
        (Some((_, field)), Some(&line)) => Error::InvalidLine {
            line,
            reason: format!("{field} {problem}").into(),
        },
        _ => failed,
    }
}

/// The messages of an input, line by line.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// As many messages as go into one commit, and the number of each one's line; none at the end.
    fn part(&mut self) -> Result<(Vec<RecordedMessage>, Vec<u64>), Error> {
        let (mut part, mut numbers, mut bytes) = (Vec::new(), Vec::new(), 0);
        while part.len() < PART_MESSAGES && bytes < PART_BYTES {
            let Some(message) = self.next()? else { break };
            bytes += message.size_bytes();
            part.push(message);
            numbers.push(self.number);
        }
        Ok((part, numbers))
    }

    /// The next message; empty lines are passed.
    fn next(&mut self) -> Result<Option<RecordedMessage>, Error> {
        loop {
            self.line.clear();
            let mut limited = self.input.by_ref().take(MAX_LINE_BYTES);
            if limited.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                let parsed = line::parse(&self.line);
                return parsed.map(Some).map_err(|reason| Error::InvalidLine {
                    line: self.number,
                    reason: reason.into(),
                });
            }
        }
    }
}
