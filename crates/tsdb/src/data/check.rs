use super::SeriesData;
use crate::{Cursor, DbOptions, DuplicatePolicy, Error, Sample};

impl SeriesData {
    /// Calls `refuse` for each sample that the options refuse. `samples` are in order of arrival.
    pub(crate) fn check(
        &self,
        samples: &[Sample],
        kept_from_ms: i64,
        options: &DbOptions,
        mut refuse: impl FnMut(usize, Error),
    ) {
        let window = options.out_of_order_window_ms;
        let unique = options.duplicates == DuplicatePolicy::Reject;
        if kept_from_ms > i64::MIN {
            refuse_before(kept_from_ms, samples, &mut refuse);
        }
        if window.is_none() && !unique {
            return;
        }
        let mut newest = (!self.is_empty()).then_some(self.newest_ms);
        for (index, sample) in samples.iter().enumerate() {
            let timestamp_ms = sample.timestamp_ms;
            match newest {
                Some(newest_ms) if timestamp_ms <= newest_ms => {
                    let oldest_ms =
                        window.map_or(i64::MIN, |window| newest_ms.saturating_sub_unsigned(window));
                    if timestamp_ms < oldest_ms {
                        refuse(
                            index,
                            Error::OutOfOrder {
                                timestamp_ms,
                                oldest_ms,
                            },
                        );
                    } else if unique
                        && (self.contains(timestamp_ms) || holds(&samples[..index], timestamp_ms))
                    {
                        refuse(index, Error::DuplicateTimestamp { timestamp_ms });
                    }
                }
                // The sample is newer than all before it, so accept it without a lookup.
                _ => newest = Some(timestamp_ms),
            }
        }
    }

    fn contains(&self, timestamp_ms: i64) -> bool {
        // Called only with `DuplicatePolicy::Reject`, which merges late samples at once. So no late
        // sample is pending.
        let found = self.snapshot_merged(timestamp_ms, timestamp_ms);
        Cursor::new(found).next_block().is_some()
    }
}

fn refuse_before(oldest_ms: i64, samples: &[Sample], refuse: &mut impl FnMut(usize, Error)) {
    for (index, sample) in samples.iter().enumerate() {
        let timestamp_ms = sample.timestamp_ms;
        if timestamp_ms < oldest_ms {
            refuse(
                index,
                Error::BeyondRetention {
                    timestamp_ms,
                    oldest_ms,
                },
            );
        }
    }
}

fn holds(samples: &[Sample], timestamp_ms: i64) -> bool {
    samples
        .iter()
        .any(|sample| sample.timestamp_ms == timestamp_ms)
}
