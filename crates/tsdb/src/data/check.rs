use super::SeriesData;
use crate::{Cursor, DbOptions, DuplicatePolicy, Error, Sample};

impl SeriesData {
    /// Says which samples the options refuse, if they arrive in this order after what is there.
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
            let at = sample.timestamp_ms;
            match newest {
                Some(newest_ms) if at <= newest_ms => {
                    let oldest_ms =
                        window.map_or(i64::MIN, |window| newest_ms.saturating_sub_unsigned(window));
                    if at < oldest_ms {
                        let timestamp_ms = at;
                        refuse(
                            index,
                            Error::OutOfOrder {
                                timestamp_ms,
                                oldest_ms,
                            },
                        );
                    } else if unique && (self.contains(at) || holds(&samples[..index], at)) {
                        refuse(index, Error::DuplicateTimestamp { timestamp_ms: at });
                    }
                }
                _ => newest = Some(at),
            }
        }
    }

    fn contains(&self, timestamp_ms: i64) -> bool {
        // Only asked where duplicates are refused, and there none waits.
        let found = self.settled(timestamp_ms, timestamp_ms);
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
