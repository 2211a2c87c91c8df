use std::sync::Arc;

use crate::data::Snapshot;
use crate::series_cell::SeriesCell;
use crate::{Cursor, Db, Labels, Sample};

/// The series that [`Db::select`] found, in no particular order.
#[derive(Debug)]
pub struct Selection {
    db: Db,
    series: Vec<Arc<SeriesCell>>,
    from_ms: i64,
    to_ms: i64,
}

/// One series of a [`Selection`].
///
/// Its samples are those that the series has when they are read; a series that has ended since it
/// was found has none.
#[derive(Clone, Copy, Debug)]
pub struct SelectedSeries<'a> {
    selection: &'a Selection,
    cell: &'a SeriesCell,
}

impl Selection {
    pub(crate) fn new(db: Db, series: Vec<Arc<SeriesCell>>, from_ms: i64, to_ms: i64) -> Self {
        Self {
            db,
            series,
            from_ms,
            to_ms,
        }
    }

    /// How many series were found.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The series.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SelectedSeries<'_>> {
        self.series.iter().map(|cell| SelectedSeries {
            selection: self,
            cell,
        })
    }
}

impl<'a> SelectedSeries<'a> {
    /// The labels.
    pub fn labels(&self) -> &'a Labels {
        &self.cell.labels
    }

    /// Reads block by block. Later writes do not show.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.snapshot())
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let Selection {
            db, from_ms, to_ms, ..
        } = self.selection;
        db.snapshot(self.cell, *from_ms, *to_ms)
    }

    /// Appends the samples to `samples`, in ascending order of time.
    pub fn collect_into(&self, samples: &mut Vec<Sample>) {
        let mut cursor = self.cursor();
        while let Some(block) = cursor.next_block() {
            let pairs = block.timestamps_ms.iter().zip(block.values);
            samples.extend(pairs.map(|(timestamp_ms, value)| Sample::new(*timestamp_ms, *value)));
        }
    }
}
