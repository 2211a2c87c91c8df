//! Moving keys from memory into the tag index.
//!
//! Where enough have come together they are moved in the order of the index, in runs. A run is not
//! one stall but a slice with each batch, in the batch's own transaction. Until its last slice the
//! index ends where it ended before, and what the slices have written is not looked at; a run that
//! another process finishes, or that a crash ends, is begun anew.

use std::sync::Arc;

use rusqlite::Result;

use super::moment::Moment;
use super::statements::{INDEXED, INSERT_TAG};
use super::tail::Stretch;

/// So many keys are moved for each that the batch has added.
const PER_NEW_KEY: usize = 4;

/// Keys that are being moved: all of a tail up to a position. Where the index or the log is not what
/// it was, there is another tail, and the run is over.
#[derive(Clone, Debug)]
pub(super) struct Run {
    tail: Arc<Stretch>,
    through: i64,
    /// The first pair of a key and a position that was not moved yet.
    next: (i64, i64),
}

/// Moves a slice in the moment's transaction, and returns what is to go on with the next batch.
///
/// A run begins with more than `limit` keys in memory.
pub(super) fn move_slice(
    moment: &Moment<'_>,
    run: Option<Run>,
    limit: usize,
) -> Result<Option<Run>> {
    if moment.own.is_empty() {
        return Ok(run);
    }
    let begun = run.filter(|run| Arc::ptr_eq(&run.tail, &moment.tail));
    let Some(run) = begun.or_else(|| begin(&moment.tail, limit)) else {
        return Ok(None);
    };
    let count = PER_NEW_KEY * moment.own.len();
    let pairs = run.slice(count);
    let mut insert = moment.connection.prepare_cached(INSERT_TAG)?;
    for pair in &pairs {
        insert.execute(*pair)?;
    }
    if let Some(&(key, position)) = pairs.last()
        && pairs.len() == count
    {
        return Ok(Some(Run {
            next: (key, position + 1),
            ..run
        }));
    }
    let mut end = moment.connection.prepare_cached(INDEXED)?;
    end.execute([run.through])?;
    Ok(None)
}

fn begin(tail: &Arc<Stretch>, limit: usize) -> Option<Run> {
    let recent = tail.recent();
    (recent.keys.len() > limit).then(|| Run {
        tail: Arc::clone(tail),
        through: recent.through,
        next: (i64::MIN, 0),
    })
}

impl Run {
    /// The next pairs, at most `count`.
    fn slice(&self, count: usize) -> Vec<(i64, i64)> {
        let recent = self.tail.recent();
        let left = recent.keys.from(self.next);
        left.filter(|&(_, position)| position <= self.through)
            .take(count)
            .collect()
    }
}
