//! Writers on an engine that is replaced before it holds too many samples.

use bench::{BlockingOp, BoxError, Op, Outcome};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tsdb::{Batch, Db, DbOptions, Durability, Labels, OpenOptions, Sample, Series};

use super::data::{MILLION, START_MS, STEP_MS, Shape, labels};

/// The calls that write samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// One sample per call, to one series, by its handle.
    Handle,
    /// One sample per call, to one series, by its labels.
    Labels,
    /// All samples in one call, to one series.
    Slice,
    /// One sample per call, to each series in turn, by handles.
    EachHandle,
    /// One sample for each series, in one batch.
    EachBatch,
}

/// The engine of a row and its writers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) way: Way,
    /// Samples per writer in one op.
    pub(crate) points: usize,
    /// Series per writer.
    pub(crate) series: usize,
    pub(crate) writers: usize,
    /// `None` for an engine without files.
    pub(crate) durability: Option<Durability>,
}

pub(crate) const PERIODIC: Durability = Durability::Periodic(Duration::from_secs(1));
pub(crate) const WRITE_THROUGH: Durability = Durability::WriteThrough {
    sync_every: Some(Duration::from_secs(1)),
};

/// An engine and its writers.
pub(crate) struct Engine {
    load: Load,
    samples: Arc<[Sample]>,
    writers: Vec<Mutex<Option<Writer>>>,
}

struct Writer {
    // Dropped in this order: the folder must outlive the engine that writes to it.
    handles: Vec<Series>,
    db: Db,
    #[expect(dead_code, reason = "kept for its drop")]
    folder: Option<Arc<TempDir>>,
    labels: Vec<Labels>,
    batch: Batch,
    /// The index of the next sample to write.
    next: usize,
    round: i64,
}

impl Load {
    /// The op: each writer writes its points once.
    pub(crate) fn op(self) -> Op {
        self.prepared()
            .before(|engine, _| engine.renew_if_used())
            .call(|engine, call| engine.write(call.worker))
    }

    fn prepared(self) -> BlockingOp<Engine> {
        Op::blocking(move || {
            let engine = Engine {
                load: self,
                samples: Shape::DecimalWalk.samples(MILLION).into(),
                writers: (0..self.writers).map(|_| Mutex::default()).collect(),
            };
            engine.renew()?;
            Ok(engine)
        })
    }

    fn open(self) -> Result<(Db, Option<Arc<TempDir>>), BoxError> {
        let Some(durability) = self.durability else {
            return Ok((Db::new(DbOptions::default()), None));
        };
        let folder = tempfile::tempdir()?;
        let options = OpenOptions {
            durability,
            snapshot_after_bytes: None,
            ..OpenOptions::default()
        };
        Ok((Db::open(folder.path(), options)?, Some(Arc::new(folder))))
    }
}

impl Engine {
    /// Replaces the engine when the samples are used up, so that a row does not depend on the
    /// duration of its measurement.
    fn renew_if_used(&self) -> Result<(), BoxError> {
        let used = |writer: &Option<Writer>| {
            writer
                .as_ref()
                .is_none_or(|writer| writer.next + self.load.points > self.samples.len())
        };
        // A separate statement, so that the lock is released before `renew` takes it again.
        let used = used(&lock(&self.writers[0]));
        if used { self.renew() } else { Ok(()) }
    }

    fn renew(&self) -> Result<(), BoxError> {
        // The old engine goes first: two engines would double the memory.
        self.writers.iter().for_each(|writer| *lock(writer) = None);
        let (db, folder) = self.load.open()?;
        for (index, writer) in self.writers.iter().enumerate() {
            let first = index * self.load.series;
            let labels: Vec<Labels> = (first..first + self.load.series)
                .map(labels)
                .collect::<Result<_, _>>()?;
            let handles = labels.iter().map(|labels| db.series(labels));
            *lock(writer) = Some(Writer {
                handles: handles.collect::<Result<_, _>>()?,
                db: db.clone(),
                folder: folder.clone(),
                labels,
                batch: Batch::new(),
                next: 0,
                round: 0,
            });
        }
        Ok(())
    }

    fn write(&self, writer: usize) -> Result<Outcome, BoxError> {
        let mut writer = lock(&self.writers[writer]);
        let writer = writer.as_mut().ok_or("the engine was not opened")?;
        let samples = &self.samples[writer.next..][..self.load.points];
        writer.next += samples.len();
        writer.write(self.load.way, samples)?;
        Ok(Outcome::Success)
    }
}

impl Writer {
    fn write(&mut self, way: Way, samples: &[Sample]) -> Result<(), BoxError> {
        match way {
            Way::Handle => {
                for sample in samples {
                    self.handles[0].append(*sample)?;
                }
            }
            Way::Labels => {
                for sample in samples {
                    self.db.append(&self.labels[0], *sample)?;
                }
            }
            Way::Slice => self.handles[0].append_batch(samples)?,
            Way::EachHandle => {
                for round in samples.chunks(self.handles.len()) {
                    self.round += 1;
                    let time_ms = START_MS + self.round * STEP_MS;
                    for (series, sample) in self.handles.iter_mut().zip(round) {
                        series.append(Sample::new(time_ms, sample.value))?;
                    }
                }
            }
            Way::EachBatch => {
                self.round += 1;
                let time_ms = START_MS + self.round * STEP_MS;
                for (labels, sample) in self.labels.iter().zip(samples) {
                    self.batch.push(labels, Sample::new(time_ms, sample.value));
                }
                let report = self.db.write(&mut self.batch);
                if report.written < samples.len() {
                    return Err("points were refused".into());
                }
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
