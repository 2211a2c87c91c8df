//! Moving keys from memory into the tag index.
//!
//! Once enough keys are in memory, a run moves them in the order of the index. Batches of appends
//! move slices of the run in their own transactions, so no append waits for a whole run. The end of
//! the index only advances with the last slice, and readers ignore the rows of earlier slices. If
//! another process completes a run first, or a crash interrupts it, a new run starts from the
//! beginning; inserting the same rows again has no effect.

use std::sync::Arc;

use rusqlite::Result;

use super::snapshot::Snapshot;
use super::statements::{INSERT_TAG, SET_INDEX_END};
use super::unindexed_keys::Generation;

/// The number of keys that a run moves for each key that batches add. So the number of new keys that
/// accumulate during a run is about a quarter of the number of keys that it moves.
const MOVED_PER_NEW_KEY: usize = 4;
/// The number of slices of a run whose batches are small. A slice that inserts between other keys may
/// give pages another order, and SQLite then walks its whole page cache at the commit. So there are few.
const SLICES: usize = 32;

/// A run in progress. It moves all keys of a generation up to a position. If another process
/// advances the index or the log is emptied, a new generation replaces this one, and the run is
/// abandoned.
#[derive(Clone, Debug)]
pub(super) struct IndexingRun {
    generation: Arc<Generation>,
    through: i64,
    /// The first pair of key and position that is not moved yet.
    next: (i64, i64),
    /// How many keys the next slice has so far.
    due: usize,
}

/// Moves a slice in the snapshot's transaction. Returns the run that the next batch has to
/// continue, if any.
///
/// A run starts when more than `limit` keys are in memory.
pub(super) fn move_slice(
    snapshot: &Snapshot<'_>,
    run: Option<IndexingRun>,
    limit: usize,
) -> Result<Option<IndexingRun>> {
    // Without new keys the slice would be empty, which would look like the end of the run.
    if snapshot.uncommitted.is_empty() {
        return Ok(run);
    }
    let current = run.filter(|run| Arc::ptr_eq(&run.generation, &snapshot.unindexed));
    let Some(mut run) = current.or_else(|| start(&snapshot.unindexed, limit)) else {
        return Ok(None);
    };
    run.due += MOVED_PER_NEW_KEY * snapshot.uncommitted.len();
    if run.due < limit / SLICES {
        return Ok(Some(run));
    }
    let count = std::mem::take(&mut run.due);
    let pairs = run.slice(count);
    let mut insert = snapshot.connection.prepare_cached(INSERT_TAG)?;
    for pair in &pairs {
        insert.execute(*pair)?;
    }
    // After a full slice, there may be more keys to move.
    if let Some(&(key, position)) = pairs.last()
        && pairs.len() == count
    {
        return Ok(Some(IndexingRun {
            next: (key, position + 1),
            ..run
        }));
    }
    let mut set_index_end = snapshot.connection.prepare_cached(SET_INDEX_END)?;
    set_index_end.execute([run.through])?;
    Ok(None)
}

fn start(generation: &Arc<Generation>, limit: usize) -> Option<IndexingRun> {
    let committed = generation.read();
    (committed.keys.len() > limit).then(|| IndexingRun {
        generation: Arc::clone(generation),
        through: committed.through,
        // Sorts before every pair, because positions start at 1.
        next: (i64::MIN, 0),
        due: 0,
    })
}

impl IndexingRun {
    /// The next pairs, at most `count`. Keys of events that were appended after the start of this
    /// run wait for the next run.
    fn slice(&self, count: usize) -> Vec<(i64, i64)> {
        let committed = self.generation.read();
        let rest = committed.keys.from(self.next);
        rest.filter(|&(_, position)| position <= self.through)
            .take(count)
            .collect()
    }
}
