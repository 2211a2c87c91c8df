use super::{Bench, Stop};
use crate::error::{BoxError, Error};
use crate::load::{Load, LoadFigures};
use crate::report::number::{duration, whole};
use crate::row::Row;
use criterion::Criterion;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Bench<'_> {
    /// Runs a load once and returns its figures; `None` if Criterion's filter leaves it out.
    /// Criterion does not time it.
    ///
    /// In a smoke run, which looks for faults, a failed call ends the run. Other runs report it.
    pub(crate) fn load(
        &self,
        criterion: &mut Criterion,
        row: &Row,
        load: &Load,
    ) -> Result<Option<LoadFigures>, Error> {
        let id = row.id();
        if !self.is_chosen(criterion, &id) {
            return Ok(None);
        }
        let ran = self.runtime.block_on(async {
            // On a worker thread, for the same reason as ops: see `contest::drive`.
            let mut task = tokio::spawn({
                let load = load.clone();
                async move { load.run().await }
            });
            tokio::select! {
                ran = &mut task => Ok(ran.map_err(BoxError::from).flatten()),
                _ = self.interrupt.wait() => {
                    task.abort();
                    // The task owns servers, and it stops them before it ends.
                    let _ = task.await;
                    Err(Error::Interrupted)
                }
            }
        })?;
        let failed = |source| Error::Row {
            id: id.clone(),
            source,
        };
        let figures = ran.map_err(failed)?;
        eprintln!("{id}: {}", line(&figures));
        match &figures.first_failure {
            Some(failure) if self.profile.is_smoke() => Err(failed(failure.clone().into())),
            _ => Ok(Some(figures)),
        }
    }

    /// True if a row passes Criterion's filter. Criterion answers only by starting the benchmark,
    /// and only unwinding then keeps it from measuring.
    fn is_chosen(&self, criterion: &mut Criterion, id: &str) -> bool {
        let mut chosen = false;
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let mut group = criterion.benchmark_group(self.target);
            group.bench_function(id, |_| {
                chosen = true;
                resume_unwind(Box::new(Stop));
            });
            group.finish();
        }));
        match asked {
            Err(panic) if !panic.is::<Stop>() => resume_unwind(panic),
            _ => chosen,
        }
    }
}

fn line(figures: &LoadFigures) -> String {
    let latency = figures.latency();
    let mut text = format!(
        "{} calls/s, p50 {}, p99 {}, {} of {} calls failed",
        whole(figures.calls_per_second()),
        duration(latency.p50_ns as f64),
        duration(latency.p99_ns as f64),
        whole(figures.failed as f64),
        whole(figures.calls as f64),
    );
    if let Some(failure) = &figures.first_failure {
        text.push_str(&format!(", the first: {failure}"));
    }
    text
}
