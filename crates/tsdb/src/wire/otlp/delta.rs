//! Points with delta temporality, which tell the increase since the point before, as totals.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::{Db, Labels, LabelsRef, Matcher, Sample};

/// Held while totals are read and written, so that no two requests add to the same total.
static ADDING: Mutex<()> = Mutex::new(());

/// The totals of the series in a request. The total of a series is its newest sample, so it survives a
/// restart, and a repeated point is recognised by its time.
pub(super) struct Totals {
    /// The totals that are not in the database yet.
    unwritten: HashMap<Labels, Sample>,
    _adding: MutexGuard<'static, ()>,
}

impl Totals {
    /// Waits for other requests with totals.
    pub(super) fn begin() -> Self {
        Self {
            unwritten: HashMap::new(),
            _adding: ADDING.lock(),
        }
    }

    /// Forgets the totals, once they are in the database.
    pub(super) fn written(&mut self) {
        self.unwritten.clear();
    }

    /// The total after an increase. `None` if the series has a sample of this time or a later one.
    pub(super) fn add(
        &mut self,
        db: &Db,
        labels: LabelsRef<'_>,
        increase: Sample,
    ) -> Option<Sample> {
        let labels = labels.to_labels();
        let unwritten = self.unwritten.get(&labels).copied();
        let last = unwritten.or_else(|| newest(db, &labels));
        let mut total = increase;
        if let Some(last) = last {
            if last.timestamp_ms >= increase.timestamp_ms {
                return None;
            }
            // After a stale marker, the series begins again.
            if !last.is_stale() && !increase.is_stale() {
                total.value += last.value;
            }
        }
        self.unwritten.insert(labels, total);
        Some(total)
    }
}

/// The newest sample of a series.
fn newest(db: &Db, labels: &Labels) -> Option<Sample> {
    let newest_ms = db.newest_ms(labels.borrowed())?;
    let matchers: Vec<Matcher> = labels
        .iter()
        .map(|label| Matcher::equal(label.name, label.value))
        .collect();
    let selection = db.select(&matchers, newest_ms, newest_ms);
    // Series with further labels match too.
    let series = selection.iter().find(|series| series.labels() == labels)?;
    let mut samples = Vec::new();
    series.collect_into(&mut samples);
    samples.pop()
}
