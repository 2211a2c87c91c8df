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
/// Each read sees the samples that the series has at the time of the read. A series that ended
/// after the selection was made has no samples.
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

    /// Returns the number of series found.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// for host in ["web-1", "web-2"] {
    ///     let labels = Labels::new("cpu_load", [("host", host)])?;
    ///     db.append(&labels, Sample::new(0, 0.42))?;
    /// }
    /// let found = db.select(&[Matcher::metric("cpu_load")], 0, 60_000);
    /// assert_eq!(found.len(), 2);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Returns `true` if no series was found.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, MatchOp, Matcher};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let web = Matcher::new("host", MatchOp::Matches, "web-.*")?;
    /// assert!(db.select(&[web], 0, 60_000).is_empty());
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Iterates over the series, in no particular order.
    ///
    /// ```
    /// use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// # db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// for series in db.select(&[Matcher::metric("cpu_load")], 0, 60_000).iter() {
    ///     println!("{}: {:?}", series.labels(), series.aggregate(Aggregate::Avg));
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SelectedSeries<'_>> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// The series at an index.
    pub(crate) fn at(&self, index: usize) -> SelectedSeries<'_> {
        SelectedSeries {
            selection: self,
            cell: &self.series[index],
        }
    }
}

impl<'a> SelectedSeries<'a> {
    /// Returns the labels of the series.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// let found = db.select(&[Matcher::metric("cpu_load")], 0, 60_000);
    /// let hosts: Vec<_> = found.iter().map(|series| series.labels().get("host")).collect();
    /// assert_eq!(hosts, [Some("web-1")]);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn labels(&self) -> &'a Labels {
        &self.cell.labels
    }

    /// Returns a cursor that reads the samples block by block, in ascending order of time. The
    /// cursor does not see later writes.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// # let labels = Labels::new("cpu_load", [("host", "web-1")])?;
    /// # db.append(&labels, Sample::new(0, 0.5))?;
    /// # db.append(&labels, Sample::new(15_000, 0.75))?;
    /// for series in db.select(&[Matcher::metric("cpu_load")], 0, 60_000).iter() {
    ///     let mut cursor = series.cursor();
    ///     while let Some(block) = cursor.next_block() {
    ///         assert_eq!(block.timestamps_ms, [0, 15_000]);
    ///         assert_eq!(block.values, [0.5, 0.75]);
    ///     }
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
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
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// let mut samples = Vec::new();
    /// for series in db.select(&[Matcher::metric("cpu_load")], 0, 60_000).iter() {
    ///     series.collect_into(&mut samples);
    /// }
    /// assert_eq!(samples, [Sample::new(0, 0.42)]);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn collect_into(&self, samples: &mut Vec<Sample>) {
        let mut cursor = self.cursor();
        while let Some(block) = cursor.next_block() {
            let pairs = block.timestamps_ms.iter().zip(block.values);
            samples.extend(pairs.map(|(timestamp_ms, value)| Sample::new(*timestamp_ms, *value)));
        }
    }
}
