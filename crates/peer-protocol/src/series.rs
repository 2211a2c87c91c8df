//! The work of a peer that stores time series.

use crate::calls::{Caller, Outcome, make_calls};
use crate::{Answer, ContentSize, Failure, Operation, Peer, Run};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Samples of each series before it is measured, and the time between two of them.
const SAMPLES: i64 = 60;
const INTERVAL_MS: i64 = 15_000;
/// 2023-11-14 22:13:20.
const START_MS: i64 = 1_700_000_000_000;
/// Series of one host.
const OF_A_HOST: usize = 10;
/// Series that one call of the load writes.
const LOADED_AT_ONCE: usize = 1_000;

/// A store of time series, as its own documentation says to use it. Its calls block, so each caller has a thread.
pub trait SeriesPeer: Send + Sync + 'static {
    /// A series by its name and labels, made before it is measured.
    type Series: Send + Sync;
    /// The buffers that a caller keeps between its writes.
    type Buffers: Default + Send;

    /// The series with this name and these labels.
    fn series(&self, name: &str, labels: &[(&str, String)]) -> Result<Self::Series, Failure>;

    /// Writes one value to each series, all at the same time, and waits until they are durable.
    fn write(
        &self,
        buffers: &mut Self::Buffers,
        series: &[Self::Series],
        time_ms: i64,
        values: &[f64],
    ) -> Result<(), Failure>;

    /// Reads the samples of a series from one time to another, both included, and returns their number.
    fn read(&self, series: &Self::Series, from_ms: i64, to_ms: i64) -> Result<u64, Failure>;
}

/// A [`Peer`] that stores time series. The events of a [`ContentSize`] are its series, each with 60
/// samples.
pub struct TimeSeries<P: SeriesPeer> {
    shared: Arc<Shared<P>>,
    runs: u64,
}

struct Shared<P: SeriesPeer> {
    peer: P,
    series: Vec<P::Series>,
    /// The time of the next write: each has its own, so series never go back.
    now_ms: AtomicI64,
}

impl<P: SeriesPeer> TimeSeries<P> {
    /// A peer with this store, which is empty.
    pub fn new(peer: P) -> Self {
        Self {
            shared: Arc::new(Shared {
                peer,
                series: Vec::new(),
                now_ms: AtomicI64::new(START_MS + SAMPLES * INTERVAL_MS),
            }),
            runs: 0,
        }
    }
}

impl<P: SeriesPeer> Shared<P> {
    fn load(&mut self, size: ContentSize) -> Result<(), Failure> {
        let series = (0..size.events).map(|number| {
            let labels = [
                ("host", format!("host-{}", number / OF_A_HOST)),
                ("cpu", (number % OF_A_HOST).to_string()),
            ];
            self.peer.series("cpu_seconds_total", &labels)
        });
        self.series = series.collect::<Result<_, _>>()?;
        let mut random = StdRng::seed_from_u64(size.seed);
        // A caller writes the same series again and again, as one that scrapes hosts does.
        for part in self.series.chunks(LOADED_AT_ONCE) {
            let mut buffers = P::Buffers::default();
            for sample in 0..SAMPLES {
                let values = values(&mut random, part.len());
                let time_ms = START_MS + sample * INTERVAL_MS;
                self.peer.write(&mut buffers, part, time_ms, &values)?;
            }
        }
        Ok(())
    }
}

/// Values in hundredths.
fn values(random: &mut StdRng, count: usize) -> Vec<f64> {
    let value = |_| f64::from(random.random_range(0..10_000)) / 100.0;
    (0..count).map(value).collect()
}

impl<P: SeriesPeer> Peer for TimeSeries<P> {
    async fn prepare(&mut self, size: ContentSize) -> Result<Option<u64>, Failure> {
        match Arc::get_mut(&mut self.shared) {
            Some(shared) => shared.load(size).map(|()| Some(size.events as u64)),
            None => Err(Failure::Other("a run has not ended".to_owned())),
        }
    }

    async fn run(&mut self, run: &Run) -> Answer {
        self.runs += 1;
        let callers = (0..run.callers).map(|number| SeriesCaller {
            shared: Arc::clone(&self.shared),
            operation: run.operation,
            number,
            buffers: P::Buffers::default(),
            random: StdRng::seed_from_u64(self.runs << 32 | number as u64),
        });
        make_calls(run, true, callers.collect()).await
    }
}

struct SeriesCaller<P: SeriesPeer> {
    shared: Arc<Shared<P>>,
    operation: Operation,
    number: usize,
    buffers: P::Buffers,
    random: StdRng,
}

impl<P: SeriesPeer> Caller for SeriesCaller<P> {
    async fn call(&mut self, _: u64) -> Outcome {
        let all = self.shared.series.len();
        match self.operation {
            Operation::WriteSamples { series } => {
                // A batch goes to the same series each time, a single sample to any.
                let first = match series {
                    1 => self.random.random_range(0..all),
                    _ => self.number * series,
                };
                self.write(first, series)
            }
            Operation::ReadSamples => {
                let series = &self.shared.series[self.random.random_range(0..all)];
                let last_ms = START_MS + (SAMPLES - 1) * INTERVAL_MS;
                let read = self.shared.peer.read(series, START_MS, last_ms)?;
                match read == SAMPLES as u64 {
                    true => Ok(read),
                    false => Err(Failure::Other(format!(
                        "a read of {SAMPLES} samples found {read}"
                    ))),
                }
            }
            other => Err(Failure::Other(format!(
                "a store of series has no {other:?}"
            ))),
        }
    }
}

impl<P: SeriesPeer> SeriesCaller<P> {
    /// Writes one sample to each of `count` series, beginning with the series `first`.
    fn write(&mut self, first: usize, count: usize) -> Outcome {
        let Shared {
            peer,
            series,
            now_ms,
        } = &*self.shared;
        let Some(series) = series.get(first..first + count) else {
            return Err(Failure::Other(format!(
                "there are only {} series",
                series.len()
            )));
        };
        let values = values(&mut self.random, count);
        let time_ms = now_ms.fetch_add(1, Ordering::Relaxed);
        peer.write(&mut self.buffers, series, time_ms, &values)?;
        Ok(count as u64)
    }
}
