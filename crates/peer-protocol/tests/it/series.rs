//! The calls of a peer that stores time series.

use crate::log::SMALL;
use peer_protocol::{ContentSize, Failure, Operation, Peer as _, Run, SeriesPeer, TimeSeries};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The times of each series. A write that goes back is an error.
#[derive(Default, Clone)]
struct Times(Arc<Mutex<BTreeMap<String, Vec<i64>>>>);

impl SeriesPeer for Times {
    type Series = String;
    type Buffers = ();

    fn series(&self, name: &str, labels: &[(&str, String)]) -> Result<String, Failure> {
        Ok(format!("{name}{labels:?}"))
    }

    fn write(
        &self,
        (): &mut (),
        series: &[String],
        time_ms: i64,
        values: &[f64],
    ) -> Result<(), Failure> {
        assert_eq!(series.len(), values.len());
        let mut times = self.0.lock().unwrap();
        for name in series {
            times.entry(name.clone()).or_default().push(time_ms);
        }
        Ok(())
    }

    fn read(&self, series: &String, from_ms: i64, to_ms: i64) -> Result<u64, Failure> {
        let times = self.0.lock().unwrap();
        let found = times[series].iter();
        let found = found.filter(|time| (from_ms..=to_ms).contains(*time));
        Ok(found.count() as u64)
    }
}

fn run(operation: Operation, callers: usize) -> Run {
    Run {
        operation,
        callers,
        seconds: 60.0,
        limit: Some(30),
    }
}

#[tokio::test]
async fn every_operation_makes_its_calls() {
    let times = Times::default();
    let mut peer = TimeSeries::new(times.clone());
    peer.prepare(SMALL).await.unwrap();
    {
        let times = times.0.lock().unwrap();
        assert_eq!(times.len(), SMALL.events);
        assert!(times.values().all(|times| times.len() == 60));
    }
    for (operation, callers, samples) in [
        (Operation::WriteSamples { series: 1 }, 4, 1),
        (Operation::WriteSamples { series: 1_000 }, 3, 1_000),
        // The samples that are read keep their number.
        (Operation::ReadSamples, 2, 60),
    ] {
        let answer = peer.run(&run(operation, callers)).await;
        assert_eq!(answer.failure, None, "{operation:?}");
        let counted = (answer.calls, answer.events);
        assert_eq!(counted, (30, 30 * samples), "{operation:?}");
    }
    let times = times.0.lock().unwrap();
    let written: usize = times.values().map(|times| times.len() - 60).sum();
    assert_eq!(written, 30 + 30 * 1_000);
}

#[tokio::test]
async fn batch_beyond_the_series_is_a_failure() {
    let mut peer = TimeSeries::new(Times::default());
    let few = ContentSize {
        events: 10,
        ..SMALL
    };
    peer.prepare(few).await.unwrap();
    let answer = peer
        .run(&run(Operation::WriteSamples { series: 1_000 }, 1))
        .await;
    assert_eq!(answer.failure.as_deref(), Some("there are only 10 series"));
    let answer = peer.run(&run(Operation::AppendIf, 1)).await;
    assert_eq!((answer.calls, answer.failures > 0), (0, true));
}
