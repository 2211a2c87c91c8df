use std::io;

use super::files::Files;
use super::position::Position;
use crate::storage::StorageFailure;

/// The name of the file beside the log.
const NAME: &str = "forwarded";
const UNFINISHED: &str = "forwarded.tmp";
/// The first line of the file.
const HEAD: &str = "tsdb-forwarded 1";

/// How far the samples were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// The receiver has confirmed all samples before this.
    pub(super) confirmed: Position,
    /// The last request had the samples up to this.
    pub(super) sending: Position,
}

impl Stored {
    /// Reads the file; `None` if there is none, or no valid one.
    pub(super) fn load(files: &Files) -> Result<Option<Self>, StorageFailure> {
        let mut bytes = Vec::new();
        match files.storage().read(NAME, &mut bytes) {
            Ok(()) => Ok(str::from_utf8(&bytes).ok().and_then(Self::parse)),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(StorageFailure::new("read", NAME, cause)),
        }
    }

    /// Replaces the file. With `is_durable`, a power failure keeps the new one.
    pub(super) fn save(&self, files: &Files, is_durable: bool) -> Result<(), StorageFailure> {
        let storage = files.storage();
        let file = storage
            .create(UNFINISHED)
            .map_err(|cause| StorageFailure::new("create", UNFINISHED, cause))?;
        file.append(self.text().as_bytes())
            .map_err(|cause| StorageFailure::new("write", UNFINISHED, cause))?;
        if is_durable {
            file.sync()
                .map_err(|cause| StorageFailure::new("sync", UNFINISHED, cause))?;
        }
        storage
            .rename(UNFINISHED, NAME)
            .map_err(|cause| StorageFailure::new("rename", UNFINISHED, cause))
    }

    fn text(&self) -> String {
        let line = |name: &str, at: Position| {
            format!("{name} {} {} {}\n", at.segment, at.offset, at.samples)
        };
        let (confirmed, sending) = (
            line("confirmed", self.confirmed),
            line("sending", self.sending),
        );
        format!("{HEAD}\n{confirmed}{sending}end\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|head| *head == HEAD)?;
        let confirmed = position(lines.next()?, "confirmed")?;
        let sending = position(lines.next()?, "sending")?;
        // A power failure may have cut the file off.
        lines.next().filter(|end| *end == "end")?;
        Some(Self { confirmed, sending })
    }
}

fn position(line: &str, name: &str) -> Option<Position> {
    let mut words = line.strip_prefix(name)?.split_ascii_whitespace();
    let mut number = || words.next()?.parse().ok();
    Some(Position {
        segment: number()?,
        offset: number()?,
        samples: number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_was_cut_off_counts_as_missing() {
        let stored = Stored {
            confirmed: Position::at(7, 32),
            sending: Position {
                segment: 7,
                offset: 900,
                samples: 20,
            },
        };
        let text = stored.text();
        assert_eq!(Stored::parse(&text), Some(stored));
        for length in 0..text.len() - 1 {
            assert_eq!(Stored::parse(&text[..length]), None, "{length}");
        }
    }
}
