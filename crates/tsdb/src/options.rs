use std::time::Duration;

use crate::{Error, LabelError, Labels};

/// Decides which samples a [`Db`](crate::Db) accepts, and how long it keeps them.
///
/// The default accepts samples in any order, keeps the last of several with the same timestamp,
/// never deletes, and has no limit on series or bytes.
#[derive(Clone, Debug, Default)]
pub struct DbOptions {
    /// The policy for a sample whose timestamp the series already has.
    pub duplicates: DuplicatePolicy,
    /// How much older than the newest sample of its series a sample may be, in milliseconds. Older
    /// ones are refused with [`Error::OutOfOrder`](crate::Error::OutOfOrder). `None` accepts any
    /// age. With `Some(0)`, timestamps must not go back.
    pub out_of_order_window_ms: Option<u64>,
    /// When old samples are deleted.
    pub retention: Retention,
    /// Upper bounds on series, memory and labels.
    pub limits: Limits,
}

/// The policy for a sample whose timestamp its series already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// The new sample replaces the old one, so a repeated write changes nothing.
    #[default]
    LastWins,
    /// The new sample is dropped, without an error.
    FirstWins,
    /// Both samples stay, in order of arrival.
    KeepAll,
    /// The new sample is refused with
    /// [`Error::DuplicateTimestamp`](crate::Error::DuplicateTimestamp).
    Reject,
}

/// When the engine deletes samples, oldest first. Memory is freed in whole blocks of up to 2,048
/// samples. Reads never show a sample older than `age_ms`, freed or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Deletes samples older than this by the system clock, in milliseconds.
    pub age_ms: Option<u64>,
    /// Deletes the oldest samples when samples, labels, index and metadata occupy more bytes than
    /// this: the sum that [`Stats::total_bytes`](crate::Stats::total_bytes) returns. With the last
    /// sample of a series its labels and index entries go too, and with the last series of a metric
    /// its metadata.
    ///
    /// The process takes more memory than this: for writes and queries in progress, for unused
    /// space of the allocator, and up to about 20 MB for the labels that remote-write senders
    /// repeat.
    pub bytes: Option<usize>,
}

/// Upper bounds. A write that would exceed one fails with a typed error and changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of series at a time.
    pub series: Option<usize>,
    /// How many series may begin in an interval. A write to an existing series is not affected.
    pub new_series: Option<NewSeriesLimit>,
    /// Maximum bytes of samples, labels, index and metadata. Checked when a write allocates, so a
    /// write that fits into memory a series already has still succeeds.
    pub bytes: Option<usize>,
    /// Maximum number of labels of a series, including the metric name.
    pub labels_per_series: usize,
    /// Maximum length of a label name, in bytes.
    pub label_name_bytes: usize,
    /// Maximum length of a label value, in bytes.
    pub label_value_bytes: usize,
}

/// How many series may begin in an interval of time. An interval begins with the first new series
/// after the end of the one before. Series that begin again count too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSeriesLimit {
    /// Maximum number of new series in an interval.
    pub max: usize,
    /// The length of an interval.
    pub interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            series: None,
            new_series: None,
            bytes: None,
            labels_per_series: 64,
            label_name_bytes: 1024,
            label_value_bytes: 4096,
        }
    }
}

impl Limits {
    /// Checks the labels of a new series.
    pub(crate) fn check_labels(&self, labels: &Labels) -> Result<(), Error> {
        let mut actual = 0;
        for label in labels {
            actual += 1;
            check_length(label.name, label.name, self.label_name_bytes)?;
            check_length(label.name, label.value, self.label_value_bytes)?;
        }
        let max = self.labels_per_series;
        if actual > max {
            return Err(Error::TooManyLabels { max, actual });
        }
        if labels.metric().is_empty() {
            let labels = labels.clone();
            return Err(Error::MissingMetric { labels });
        }
        Ok(())
    }
}

fn check_length(name: &str, part: &str, max: usize) -> Result<(), Error> {
    if part.len() <= max {
        return Ok(());
    }
    let too_long = LabelError::TooLong {
        name: name.chars().take(64).collect(),
        max,
        actual: part.len(),
    };
    Err(too_long.into())
}
