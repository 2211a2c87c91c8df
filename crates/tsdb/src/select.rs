use crate::data::Snapshot;
use crate::index::Entry;
use crate::{Cursor, Db, Labels, Sample};

/// The series that [`Db::select`] found, in no particular order.
#[derive(Debug)]
pub struct Selection {
    db: Db,
    entries: Vec<Entry>,
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
    entry: &'a Entry,
}

impl Selection {
    pub(crate) fn new(db: Db, entries: Vec<Entry>, from_ms: i64, to_ms: i64) -> Self {
        Self {
            db,
            entries,
            from_ms,
            to_ms,
        }
    }

    /// How many series were found.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The series.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SelectedSeries<'_>> {
        self.entries.iter().map(|entry| SelectedSeries {
            selection: self,
            entry,
        })
    }
}

impl<'a> SelectedSeries<'a> {
    /// The labels.
    pub fn labels(&self) -> &'a Labels {
        &self.entry.labels
    }

    /// Reads block by block. Later writes do not show.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.snapshot())
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let Selection {
            db, from_ms, to_ms, ..
        } = self.selection;
        db.snapshot(self.entry.key, *from_ms, *to_ms)
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
