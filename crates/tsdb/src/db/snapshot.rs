//! Writes a snapshot: one file with the content of the database, which replaces the log before it.
//!
//! Invariants:
//! - A snapshot gets its name once all of it is durable. Only then are the older segments removed.
//!   So after a crash there is either the snapshot or the log that it replaces.
//! - An entry is in the snapshot or in the segments after the cut, never in both.
//!
//! `tests/it/snapshot.rs` fails without them.

use std::time::{Duration, Instant};

use super::Inner;
use crate::data;
use crate::journal::SeriesId;
use crate::storage::{Storage, StorageFailure};
use crate::wal::{
    Cut, Entries, FileHeader, FileKind, FrameHeader, Log, Segment, UNFINISHED, segment_number,
    snapshot as snapshot_name, snapshot_number,
};
use crate::{Cursor, Error, Labels, Metadata, Sample};

/// Size at which a frame is written.
const FRAME_BYTES: usize = 1 << 20;

/// The content of the database at the cut.
struct Content {
    series: Vec<SeriesContent>,
    metadata: Vec<(String, Metadata)>,
}

struct SeriesContent {
    id: SeriesId,
    labels: Labels,
    samples: data::Snapshot,
}

/// A snapshot is logged if it takes this long.
const LONG: Duration = Duration::from_secs(5);

/// Writes a snapshot, and logs that it took long.
pub(super) fn write(inner: &Inner, log: &Log) -> Result<(), Error> {
    let begun = Instant::now();
    let written = write_now(inner, log);
    let took = begun.elapsed();
    if took >= LONG && written.is_ok() {
        tracing::warn!(?took, "a snapshot of the series took long");
    }
    written
}

/// Writes the content of `inner` to a snapshot, and removes the files that it replaces.
fn write_now(inner: &Inner, log: &Log) -> Result<(), Error> {
    let storage = log.storage();
    let mut cut = log.cut();
    let content = Content::collect(inner, &mut cut);
    let (number, log_bytes) = cut.finish()?;
    // The cut is released here: writers and flushes continue while the file is written.
    let written = write_file(&*storage, number, content);
    log.note_snapshot(log_bytes, written.is_ok());
    written?;
    Ok(remove_older(&*storage, number)?)
}

impl Content {
    /// Copies the content shard by shard. The cut of a shard is at the moment when it is copied.
    /// The content has the entries logged before that moment; the segments after the cut have the
    /// later ones.
    fn collect(inner: &Inner, cut: &mut Cut<'_>) -> Self {
        let mut series = Vec::new();
        for (index, shard) in inner.shards.iter().enumerate() {
            let shard = shard.0.lock();
            // Lock all series at once: a handle needs no shard lock, and could otherwise log a
            // sample after the cut that the snapshot still contains.
            let locked: Vec<_> = shard
                .series()
                .map(|cell| (cell, cell.data.lock()))
                .collect();
            // Each series is unlocked as soon as it is copied.
            cut.collect(index);
            series.extend(locked.into_iter().map(|(cell, mut data)| SeriesContent {
                id: cell.key.id,
                labels: cell.labels.clone(),
                samples: inner.snapshot(&mut data, i64::MIN, i64::MAX),
            }));
        }
        let metadata = inner.metadata.write();
        cut.collect_metadata();
        Self {
            series,
            metadata: metadata.clone().into_iter().collect(),
        }
    }
}

fn write_file(storage: &dyn Storage, number: u64, content: Content) -> Result<(), StorageFailure> {
    let name = snapshot_name(number);
    let unfinished = format!("{name}{UNFINISHED}");
    let written = write_content(storage, number, &unfinished, content)
        .and_then(|()| publish(storage, &unfinished, &name));
    if written.is_err() {
        // Free the space now. If this fails too, the next open removes the file.
        let _ = storage.remove(&unfinished);
    }
    written
}

fn write_content(
    storage: &dyn Storage,
    number: u64,
    name: &str,
    content: Content,
) -> Result<(), StorageFailure> {
    let header = FileHeader {
        kind: FileKind::Snapshot,
        number,
        previous_end: 0,
    };
    let mut file = SnapshotFile {
        segment: Segment::create(storage, name.to_owned(), &header)?,
        entries: Entries::default(),
        frame: Vec::new(),
    };
    for (metric, metadata) in &content.metadata {
        file.entries.metadata(metric, metadata);
        file.end_entry()?;
    }
    let mut samples = Vec::new();
    for series in content.series {
        file.entries.begin(series.id, &series.labels);
        let mut cursor = Cursor::new(series.samples);
        while let Some(block) = cursor.next_block() {
            samples.clear();
            let pairs = block.timestamps_ms.iter().zip(block.values);
            samples.extend(pairs.map(|(timestamp_ms, value)| Sample::new(*timestamp_ms, *value)));
            file.entries.samples(series.id, &samples);
        }
        file.end_entry()?;
    }
    file.finish()
}

fn publish(storage: &dyn Storage, unfinished: &str, name: &str) -> Result<(), StorageFailure> {
    storage
        .rename(unfinished, name)
        .map_err(|cause| StorageFailure::new("rename", unfinished, cause))?;
    storage
        .sync_folder()
        .map_err(|cause| StorageFailure::new("sync", "", cause))
}

fn remove_older(storage: &dyn Storage, number: u64) -> Result<(), StorageFailure> {
    let files = storage.list();
    let files = files.map_err(|cause| StorageFailure::new("list", "", cause))?;
    for file in files {
        let file_number = segment_number(&file.name).or(snapshot_number(&file.name));
        if file_number.is_some_and(|file_number| file_number < number) {
            storage
                .remove(&file.name)
                .map_err(|cause| StorageFailure::new("remove", &file.name, cause))?;
        }
    }
    Ok(())
}

/// A snapshot that is being written.
struct SnapshotFile {
    segment: Segment,
    entries: Entries,
    frame: Vec<u8>,
}

impl SnapshotFile {
    fn end_entry(&mut self) -> Result<(), StorageFailure> {
        match self.entries.len() >= FRAME_BYTES {
            true => self.write_frame(),
            false => Ok(()),
        }
    }

    fn write_frame(&mut self) -> Result<(), StorageFailure> {
        self.frame.clear();
        self.frame.resize(FrameHeader::LENGTH, 0);
        self.frame.extend_from_slice(self.entries.as_bytes());
        self.entries.clear(FRAME_BYTES);
        self.segment.append(&mut self.frame)
    }

    fn finish(mut self) -> Result<(), StorageFailure> {
        if !self.entries.is_empty() {
            self.write_frame()?;
        }
        self.entries.closed();
        self.write_frame()?;
        self.segment.sync()
    }
}
