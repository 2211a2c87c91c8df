use super::contest::order;
use super::{Bench, Stop};
use crate::error::{BoxError, Error};
use crate::load::{Load, LoadFigures, Running};
use crate::report::number::{duration, whole};
use crate::row::Row;
use criterion::Criterion;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Bench<'_> {
    /// Runs loads in turns and returns their figures; `None` for one that Criterion's filter leaves out.
    /// Criterion does not time them. A load that is alone has one turn.
    ///
    /// In a smoke run, which looks for faults, there is one turn, and a failed call ends the run. Other runs
    /// report it.
    pub(crate) fn loads(
        &self,
        criterion: &mut Criterion,
        loads: &[(Row, Load)],
    ) -> Result<Vec<Option<LoadFigures>>, Error> {
        let ids: Vec<String> = loads.iter().map(|(row, _)| row.id()).collect();
        let is_chosen = ids.iter().map(|id| self.is_chosen(criterion, id));
        let is_chosen: Vec<bool> = is_chosen.collect();
        let chosen: Vec<usize> = (0..loads.len()).filter(|&load| is_chosen[load]).collect();
        let mut figures: Vec<Option<LoadFigures>> = loads.iter().map(|_| None).collect();
        if chosen.is_empty() {
            return Ok(figures);
        }
        let taking_turns = chosen.iter().map(|&load| loads[load].1.clone());
        let taking_turns: Vec<Load> = taking_turns.collect();
        let turns = match taking_turns.iter().map(Load::turns).min() {
            Some(turns) if taking_turns.len() > 1 && !self.profile.is_smoke() => turns,
            _ => 1,
        };
        let ran = self.runtime.block_on(async {
            // On a worker thread, for the same reason as ops: see `contest::drive`.
            let mut task = tokio::spawn(take_turns(taking_turns, turns));
            tokio::select! {
                ran = &mut task => Ok(ran),
                _ = self.interrupt.wait() => {
                    task.abort();
                    // The task owns servers, and it stops them before it ends.
                    let _ = task.await;
                    Err(Error::Interrupted)
                }
            }
        })?;
        let failed = |load: usize, source| Error::Row {
            id: ids[chosen[load]].clone(),
            source,
        };
        let ran = match ran {
            Ok(ran) => ran.map_err(|(load, source)| failed(load, source))?,
            Err(panicked) => return Err(failed(0, panicked.into())),
        };
        for (number, ran) in ran.into_iter().enumerate() {
            eprintln!("{}: {}", ids[chosen[number]], line(&ran));
            match &ran.first_failure {
                Some(failure) if self.profile.is_smoke() => {
                    return Err(failed(number, failure.clone().into()));
                }
                _ => figures[chosen[number]] = Some(ran),
            }
        }
        Ok(figures)
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

/// Runs the set-ups, then the loads in turns. An error has the number of the load.
async fn take_turns(loads: Vec<Load>, turns: u32) -> Result<Vec<LoadFigures>, (usize, BoxError)> {
    let mut running: Vec<Box<dyn Running>> = Vec::with_capacity(loads.len());
    for (number, load) in loads.iter().enumerate() {
        running.push(load.start().await.map_err(|failed| (number, failed))?);
    }
    for round in 0..turns {
        for side in order(running.len(), round as usize) {
            let turn = running[side].turn(turns).await;
            turn.map_err(|failed| (side, failed))?;
        }
        if turns > 1 {
            eprintln!(
                "  {} of {turns} turns of {} loads",
                round + 1,
                running.len()
            );
        }
    }
    Ok(running.iter().map(|running| running.figures()).collect())
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
