use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::files::{Files, LogFile};
use super::position::Position;
use super::window::Window;
use crate::Labels;
use crate::db::Inner;
use crate::journal::SeriesId;
use crate::storage::StorageFailure;
use crate::wal::{Entry, EntryReader, FrameHeader};

/// The labels of the series in the log.
///
/// Ids are never used twice, so the table may know series that begin after the place in question.
pub(super) struct SeriesTable {
    labels: HashMap<SeriesId, Labels, RandomState>,
    db: Weak<Inner>,
    /// Whether the files before the start were searched.
    is_searched: bool,
}

impl SeriesTable {
    /// The series of the database. Their labels are shared with it.
    pub(super) fn of(db: &Arc<Inner>) -> Self {
        Self {
            labels: db.series_ids().collect(),
            db: Arc::downgrade(db),
            is_searched: false,
        }
    }

    pub(super) fn begin(&mut self, id: SeriesId, labels: Labels) {
        let shared = self.db.upgrade().and_then(|db| db.shared_labels(&labels));
        self.labels.insert(id, shared.unwrap_or(labels));
    }

    pub(super) fn end(&mut self, id: SeriesId) {
        self.labels.remove(&id);
    }

    /// The labels of a series; `None` if it ended before the sender came to its samples, and no file
    /// tells them any more.
    pub(super) fn labels(
        &mut self,
        id: SeriesId,
        files: &Files,
        before: Position,
    ) -> Result<Option<Labels>, StorageFailure> {
        if !self.labels.contains_key(&id) && !self.is_searched {
            self.search(files, before)?;
            self.is_searched = true;
        }
        Ok(self.labels.get(&id).cloned())
    }

    /// Finds the series that began before a position. Only series that have ended since are missing,
    /// so this is rarely needed. Reads the files up to the position.
    fn search(&mut self, files: &Files, before: Position) -> Result<(), StorageFailure> {
        let snapshot = files.newest_snapshot()?.map(LogFile::Snapshot);
        let segments = files.segments()?.into_keys();
        let segments = segments.take_while(|segment| *segment <= before.segment);
        for file in snapshot.into_iter().chain(segments.map(LogFile::Segment)) {
            let end = match file {
                LogFile::Segment(segment) if segment == before.segment => before.offset,
                _ => u64::MAX,
            };
            self.search_file(files, file, end)?;
        }
        Ok(())
    }

    fn search_file(
        &mut self,
        files: &Files,
        file: LogFile,
        end: u64,
    ) -> Result<(), StorageFailure> {
        let (mut window, mut reader) = (Window::default(), EntryReader::new());
        let mut offset = Position::start_of(file.number()).offset;
        while offset < end
            && let Some(frame) = window.frame(files, file, offset)?
        {
            offset += (FrameHeader::LENGTH + frame.len()) as u64;
            let mut entries = window.bytes(frame);
            while !entries.is_empty()
                && let Some(entry) = reader.next(&mut entries)
            {
                if let Entry::Begin(id, labels) = entry {
                    self.labels.entry(id).or_insert(labels);
                }
            }
        }
        Ok(())
    }
}
