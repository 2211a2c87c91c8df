use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

use crate::heap::labels_bytes;
use crate::{Exemplar, Labels, Matcher, Sample};

/// The newest exemplars of all series, in memory. The oldest make room for new ones.
///
/// ```
/// use tsdb::{Exemplar, Exemplars, Labels, Matcher, Sample};
///
/// let exemplars = Exemplars::new(1 << 20);
/// let labels = Labels::builder().label("trace_id", "5f0c").build()?;
/// let latency = Labels::new("latency_seconds", [("host", "web-1")])?;
/// exemplars.add(latency.clone(), Exemplar { labels, sample: Sample::new(1000, 0.25) });
///
/// let found = exemplars.select(&[vec![Matcher::metric("latency_seconds")]], 0, 2000);
/// assert_eq!(found[&latency][0].labels.get("trace_id"), Some("5f0c"));
/// # Ok::<(), tsdb::Error>(())
/// ```
#[derive(Debug)]
pub struct Exemplars {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The series and the exemplar, in order of arrival.
    list: VecDeque<(Labels, Exemplar)>,
    bytes: usize,
}

impl Exemplars {
    /// An empty list, for exemplars that occupy about `max_bytes` at most.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            kept: Mutex::default(),
        }
    }

    /// Adds an exemplar of a series. Returns `false` if it alone is larger than the space for all.
    pub fn add(&self, series: Labels, exemplar: Exemplar) -> bool {
        let size = size_bytes(&series, &exemplar);
        if size > self.max_bytes {
            return false;
        }
        let mut kept = self.kept.lock();
        kept.make_room(self.max_bytes - size);
        kept.bytes += size;
        kept.list.push_back((series, exemplar));
        true
    }

    /// The exemplars from `from_ms` to `to_ms`, both inclusive, of the series that match all
    /// matchers of one of the `selectors`: by series, in order of time. An exemplar that was sent
    /// several times is returned once. It visits every exemplar.
    pub fn select(
        &self,
        selectors: &[Vec<Matcher>],
        from_ms: i64,
        to_ms: i64,
    ) -> BTreeMap<Labels, Vec<Exemplar>> {
        let matches = |series: &Labels| {
            let fits = |matchers: &Vec<Matcher>| matchers.iter().all(|one| one.matches(series));
            selectors.iter().any(fits)
        };
        let mut found: BTreeMap<Labels, Vec<Exemplar>> = BTreeMap::new();
        for (series, exemplar) in &self.kept.lock().list {
            let in_range = (from_ms..=to_ms).contains(&exemplar.sample.timestamp_ms);
            if in_range && matches(series) {
                found
                    .entry(series.clone())
                    .or_default()
                    .push(exemplar.clone());
            }
        }
        for exemplars in found.values_mut() {
            exemplars.sort_by(|one, other| order(one).cmp(&order(other)));
            exemplars.dedup_by(|one, other| order(one) == order(other));
        }
        found
    }

    /// The number of exemplars.
    pub fn len(&self) -> usize {
        self.kept.lock().list.len()
    }

    /// Whether there are no exemplars.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Kept {
    /// Removes the oldest until at most `bytes` are in use.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes > bytes
            && let Some((series, exemplar)) = self.list.pop_front()
        {
            self.bytes -= size_bytes(&series, &exemplar);
        }
    }
}

/// Everything that tells two exemplars of a series apart, NaNs included.
fn order(exemplar: &Exemplar) -> (i64, u64, &Labels) {
    let Sample {
        timestamp_ms,
        value,
    } = exemplar.sample;
    (timestamp_ms, value.to_bits(), &exemplar.labels)
}

fn size_bytes(series: &Labels, exemplar: &Exemplar) -> usize {
    size_of::<(Labels, Exemplar)>() + labels_bytes(series) + labels_bytes(&exemplar.labels)
}
