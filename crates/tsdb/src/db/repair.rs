//! Checks and repairs damaged files.

use std::collections::HashMap;
use std::sync::Arc;

use super::restore::{self, Restorer};
use super::{Inner, snapshot};
use crate::journal::SeriesId;
use crate::storage::{Storage, StorageFailure};
use crate::wal::{Damage, Entry, Log, Replay, Salvage, salvage};
use crate::{Db, DbOptions, DuplicatePolicy, Durability, Error, Labels, OpenOptions, Sample};

/// The prefix of the name under which a damaged file is kept.
const SET_ASIDE: &str = "damaged-";

/// The result of [`Db::check_files`] and [`Db::repair_files`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FileReport {
    /// The damaged parts of the files, in the order of the log. Empty if all files are intact.
    pub damage: Vec<Damage>,
    /// The number of intact samples, including those replaced or deleted later.
    pub samples: u64,
    /// The times for which series may have lost samples, by labels and time.
    pub gaps: Vec<Gap>,
    /// The number of intact samples whose series is unknown, because its labels were in a damaged
    /// part. A repair can't keep them.
    pub unnamed_samples: u64,
}

/// A time for which a series may have lost samples. The lost ones were written after the last
/// intact sample before the damage, and before the first intact sample after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The labels of the series.
    pub labels: Labels,
    /// The newest timestamp of the series before the damage.
    pub after_ms: i64,
    /// The first timestamp that was written after the damage; `None` if there is none.
    pub before_ms: Option<i64>,
}

impl Db {
    /// Reads all files of a database that is not open, and reports the damage. Changes nothing.
    /// Needs as much memory as an open database.
    ///
    /// # Errors
    /// [`Error::FormatTooNew`] or [`Error::Storage`].
    ///
    /// ```
    /// use tsdb::storage::Folder;
    /// use tsdb::{Db, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// # drop(Db::open(path, OpenOptions::default())?);
    /// let report = Db::check_files(&Folder::lock(path)?)?;
    /// assert!(report.damage.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_files(storage: &dyn Storage) -> Result<FileReport, Error> {
        let inner = empty();
        let mut repairer = Repairer::new(&inner);
        let (damage, _) = salvage(storage, &mut repairer)?;
        Ok(repairer.finish(damage))
    }

    /// Makes damaged files usable. Keeps all that is intact before and after the damage. A copy of
    /// each damaged file stays in the folder under its name with the prefix `damaged-`. Changes
    /// nothing if no file is damaged.
    ///
    /// A deletion that was in a damaged part is undone. A crash in the middle leaves files that can
    /// be repaired again.
    ///
    /// # Errors
    /// [`Error::FormatTooNew`], [`Error::DiskFull`] or [`Error::Storage`].
    ///
    /// ```
    /// use tsdb::storage::Folder;
    /// use tsdb::{Db, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path();
    /// # drop(Db::open(path, OpenOptions::default())?);
    /// let report = Db::repair_files(Folder::lock(path)?)?;
    /// for gap in &report.gaps {
    ///     println!("{} may miss samples after {} ms", gap.labels, gap.after_ms);
    /// }
    /// let db = Db::open(path, OpenOptions::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair_files(storage: impl Storage) -> Result<FileReport, Error> {
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let mut inner = empty();
        let mut repairer = Repairer::new(&inner);
        let (damage, start) = salvage(&*storage, &mut repairer)?;
        let report = repairer.finish(damage);
        if report.damage.is_empty() {
            return Ok(report);
        }
        set_aside(&*storage, &report.damage)?;
        let options = OpenOptions {
            durability: Durability::Unsynced,
            snapshot_after_bytes: None,
            ..OpenOptions::default()
        };
        let log = Arc::new(Log::begin(storage, &start, &options, inner.meters.log())?);
        inner.journal = Some(Arc::clone(&log));
        // The snapshot replaces all files before it, damaged or not.
        snapshot::write(&inner, &log)?;
        log.close()?;
        Ok(report)
    }
}

/// A database for what is intact. It keeps duplicates: the policy applies when the files are opened.
fn empty() -> Inner {
    Inner::new(DbOptions {
        duplicates: DuplicatePolicy::KeepAll,
        ..DbOptions::default()
    })
}

/// Copies the damaged files.
fn set_aside(storage: &dyn Storage, damage: &[Damage]) -> Result<(), Error> {
    // Several parts of a file are next to each other.
    let mut names: Vec<&str> = damage.iter().map(|part| part.file.as_str()).collect();
    names.dedup();
    let existing = storage.list();
    let existing = existing.map_err(|cause| StorageFailure::new("list", "", cause))?;
    // A missing file is damage too, but can't be copied.
    names.retain(|name| existing.iter().any(|file| file.name == *name));
    let mut bytes = Vec::new();
    for name in names {
        let copied = storage.read(name, &mut bytes).and_then(|()| {
            let copy = storage.create(&format!("{SET_ASIDE}{name}"))?;
            copy.append(&bytes)?;
            copy.sync()
        });
        copied.map_err(|cause| StorageFailure::new("copy", name, cause))?;
    }
    let synced = storage.sync_folder();
    Ok(synced.map_err(|cause| StorageFailure::new("sync", "", cause))?)
}

/// Restores what is intact, and notes for each series what may be lost.
struct Repairer<'d> {
    restorer: Restorer<'d>,
    series: HashMap<SeriesId, Known>,
    report: FileReport,
}

/// A series whose labels are known.
struct Known {
    labels: Labels,
    /// The newest timestamp; `None` before the first sample.
    newest_ms: Option<i64>,
    /// The index of its gap that has no end yet.
    gap: Option<usize>,
}

impl<'d> Repairer<'d> {
    fn new(db: &'d Inner) -> Self {
        Self {
            restorer: Restorer::new(db),
            series: HashMap::default(),
            report: FileReport::default(),
        }
    }

    fn finish(mut self, damage: Vec<Damage>) -> FileReport {
        self.restorer.finish();
        // The series of a map are in no order.
        let gaps = &mut self.report.gaps;
        gaps.sort_by(|a, b| (&a.labels, a.after_ms).cmp(&(&b.labels, b.after_ms)));
        FileReport {
            damage,
            ..self.report
        }
    }

    /// Restores samples, even if the entries that they depend on are lost.
    fn restore(&mut self, id: SeriesId, samples: &[Sample]) -> Result<(), &'static str> {
        match self.restorer.samples(id, samples) {
            Err(restore::SAME_LABELS) => self.end_predecessor(id),
            Err(restore::UNKNOWN) => self.begin_again(id)?,
            restored => return restored,
        }
        self.restorer.samples(id, samples)
    }

    /// Begins a series again. A deletion has ended it here, because some of its samples are lost.
    fn begin_again(&mut self, id: SeriesId) -> Result<(), &'static str> {
        let known = self.series.get(&id).ok_or(restore::UNKNOWN)?;
        self.restorer.apply(Entry::End(id))?;
        self.restorer.apply(Entry::Begin(id, known.labels.clone()))
    }

    /// Ends the series that has the labels of the series `id`. Its end must have been in a damaged
    /// part: two series never have the same labels at once.
    fn end_predecessor(&mut self, id: SeriesId) {
        let labels = &self.series[&id].labels;
        let same = |(other, known): (&SeriesId, &Known)| {
            (*other != id && known.newest_ms.is_some() && known.labels == *labels).then_some(*other)
        };
        if let Some(other) = self.series.iter().find_map(same) {
            self.series.remove(&other);
            let _ = self.restorer.apply(Entry::End(other));
        }
    }
}

impl Replay for Repairer<'_> {
    fn samples(&mut self, id: SeriesId, samples: &[Sample]) -> Result<(), &'static str> {
        self.report.samples += samples.len() as u64;
        let restored = self.restore(id, samples);
        let Some(known) = self.series.get_mut(&id).filter(|_| restored.is_ok()) else {
            self.report.unnamed_samples += samples.len() as u64;
            return Err(restore::UNKNOWN);
        };
        let times = || samples.iter().map(|sample| sample.timestamp_ms);
        if let Some(gap) = known.gap.take() {
            self.report.gaps[gap].before_ms = times().min();
        }
        known.newest_ms = known.newest_ms.max(times().max());
        Ok(())
    }

    fn apply(&mut self, entry: Entry<'_>) -> Result<(), &'static str> {
        match &entry {
            // A frame that a failed sync has left behind can be intact twice.
            Entry::Begin(id, _) if self.series.contains_key(id) => return Ok(()),
            Entry::Begin(id, labels) => {
                let known = Known {
                    labels: labels.clone(),
                    newest_ms: None,
                    gap: None,
                };
                self.series.insert(*id, known);
            }
            Entry::Delete(id, ..) if !self.series.contains_key(id) => return Ok(()),
            Entry::End(id) if self.series.remove(id).is_none() => return Ok(()),
            _ => {}
        }
        self.restorer.apply(entry)
    }
}

impl Salvage for Repairer<'_> {
    fn lost(&mut self) {
        for known in self.series.values_mut() {
            // A gap without an end covers this damage too.
            if let (Some(after_ms), None) = (known.newest_ms, known.gap) {
                known.gap = Some(self.report.gaps.len());
                self.report.gaps.push(Gap {
                    labels: known.labels.clone(),
                    after_ms,
                    before_ms: None,
                });
            }
        }
    }
}
