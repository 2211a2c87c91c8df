//! Range selectors on several threads.

use std::panic::resume_unwind;
use std::thread;

use super::Evaluation;
use super::matrix::Windows;
use super::selector::sorted;
use crate::QueryError;
use crate::plan::Selector;
use crate::steps::Steps;

/// The windows that take about as long as the start of a thread.
const WINDOWS_PER_THREAD: usize = 1 << 12;

impl Evaluation<'_> {
    /// The results of `apply` for the windows of each series, in the order of the series' labels.
    /// Each thread takes some of the series.
    pub(super) fn on_threads<T: Send>(
        &self,
        selector: &Selector,
        range_ms: i64,
        steps: Steps,
        apply: impl Fn(&mut Windows<'_>) -> Result<T, QueryError> + Sync,
    ) -> Result<Vec<T>, QueryError> {
        let ends = self.placed(steps, selector.placement);
        let range = self.range_of(selector, range_ms);
        let (from, to) = range.reach(ends);
        let selection = self.storage.select(&selector.matchers, from, to)?;
        let selection = &*selection;
        let series = sorted(selection);
        let applied = &|series: &[usize]| -> Result<Vec<T>, QueryError> {
            let mut out = Vec::with_capacity(series.len());
            self.present_samples(selection, series, &mut |samples| {
                out.push(apply(&mut Windows::new(samples, steps, ends, range))?);
                Ok(())
            })?;
            Ok(out)
        };
        let busy = series.len().saturating_mul(steps.count()) / WINDOWS_PER_THREAD;
        let threads = busy.min(self.options.threads).min(series.len()).max(1);
        let (here, elsewhere) = series.split_at(series.len() / threads);
        if elsewhere.is_empty() {
            return applied(here);
        }
        thread::scope(|scope| {
            let parts = elsewhere.chunks(elsewhere.len().div_ceil(threads - 1));
            let running: Vec<_> = parts
                .map(|part| scope.spawn(move || applied(part)))
                .collect();
            let mut out = applied(here)?;
            for thread in running {
                let part = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                out.append(&mut part?);
            }
            Ok(out)
        })
    }
}
