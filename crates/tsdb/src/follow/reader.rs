use std::sync::Arc;

use super::files::{Files, LogFile};
use super::position::Position;
use super::series::SeriesTable;
use super::window::{Window, previous_end};
use crate::storage::StorageFailure;
use crate::wal::{Entry, EntryReader, FrameHeader};
use crate::{Labels, Sample};

/// Consecutive samples of the log.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) samples: Vec<(Labels, Sample)>,
    /// The number of samples left out, because the labels of their series are lost.
    pub(crate) unknown: u64,
    /// The position after the samples.
    pub(crate) end: Position,
    /// Whether the last request of an earlier process had exactly these samples.
    pub(crate) is_repeat: bool,
}

impl Batch {
    /// Whether the batch is the end of the log.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of samples, with those left out.
    pub(super) fn len(&self) -> usize {
        self.samples.len() + self.unknown as usize
    }

    fn add(&mut self, labels: Option<Labels>, samples: &[Sample]) {
        match labels {
            Some(labels) => {
                let samples = samples.iter().map(|sample| (labels.clone(), *sample));
                self.samples.extend(samples);
            }
            None => self.unknown += samples.len() as u64,
        }
    }
}

/// Reads the samples of a log in order.
pub(super) struct Reader {
    files: Arc<Files>,
    series: SeriesTable,
    entries: EntryReader,
    window: Window,
    at: Position,
}

impl Reader {
    pub(super) fn new(files: Arc<Files>, series: SeriesTable, at: Position) -> Self {
        Self {
            files,
            series,
            entries: EntryReader::new(),
            window: Window::default(),
            at,
        }
    }

    /// The next samples: up to `max`, and none from `until` on. None at the end of the log. An error
    /// leaves the position as it was.
    pub(super) fn next(
        &mut self,
        max: usize,
        until: Option<Position>,
    ) -> Result<Batch, StorageFailure> {
        let begin = self.at;
        // An earlier look may have found the end of the log.
        self.window.forget();
        self.collect(max, until).inspect_err(|_| self.at = begin)
    }

    fn collect(&mut self, max: usize, until: Option<Position>) -> Result<Batch, StorageFailure> {
        let mut batch = Batch {
            samples: Vec::new(),
            unknown: 0,
            end: self.at,
            is_repeat: false,
        };
        while batch.len() < max && until.is_none_or(|until| self.at < until) {
            let file = LogFile::Segment(self.at.segment);
            if let Some(frame) = self.window.frame(&self.files, file, self.at.offset)? {
                let end = self.at.offset + (FrameHeader::LENGTH + frame.len()) as u64;
                let entries = self.window.bytes(frame);
                let source = (&*self.files, &mut self.series, &mut self.at);
                let is_read =
                    take_frame(entries, &mut self.entries, source, max, until, &mut batch)?;
                if is_read {
                    self.at = Position::at(self.at.segment, end);
                }
            } else if !self.next_segment()? {
                break;
            }
        }
        batch.end = self.at;
        Ok(batch)
    }

    /// Moves to the next segment if there is one and this one is read to its valid end. Returns
    /// whether to read on.
    fn next_segment(&mut self) -> Result<bool, StorageFailure> {
        let segments = self.files.segments()?;
        let mut later = segments.range(self.at.segment + 1..);
        let Some((&next, _)) = later.next() else {
            return Ok(false);
        };
        let Some(end) = previous_end(&self.files, next)? else {
            // It is being created.
            return Ok(false);
        };
        // Frames may have been added after the last look at this segment, before the next began.
        if next == self.at.segment + 1 && self.at.offset < end {
            self.window.forget();
            let file = LogFile::Segment(self.at.segment);
            if self
                .window
                .frame(&self.files, file, self.at.offset)?
                .is_some()
            {
                return Ok(true);
            }
        }
        self.at = Position::start_of(next);
        Ok(true)
    }
}

/// Adds the samples of a frame from the position on, and moves the position within the frame. Returns
/// whether the whole frame is read.
fn take_frame(
    mut entries: &[u8],
    reader: &mut EntryReader,
    (files, series, at): (&Files, &mut SeriesTable, &mut Position),
    max: usize,
    until: Option<Position>,
    batch: &mut Batch,
) -> Result<bool, StorageFailure> {
    let here = until.filter(|until| (until.segment, until.offset) == (at.segment, at.offset));
    let end = here.map_or(u64::MAX, |until| until.samples);
    // The samples of this frame that were read before.
    let mut skipped = at.samples;
    while !entries.is_empty()
        && let Some(entry) = reader.next(&mut entries)
    {
        match entry {
            Entry::Begin(id, labels) => series.begin(id, labels),
            Entry::End(id) => series.end(id),
            Entry::Samples(id, samples) => {
                let skip = skipped.min(samples.len() as u64);
                skipped -= skip;
                let samples = &samples[skip as usize..];
                let room = ((max - batch.len()) as u64).min(end - at.samples);
                let (taken, rest) = samples.split_at(room.min(samples.len() as u64) as usize);
                if !taken.is_empty() {
                    batch.add(series.labels(id, files, *at)?, taken);
                    at.samples += taken.len() as u64;
                }
                if !rest.is_empty() {
                    return Ok(false);
                }
            }
            Entry::Delete(..) | Entry::Metadata(..) | Entry::Closed => {}
        }
    }
    Ok(true)
}
