use crate::{Error, Labels};

/// What a [`Db`](crate::Db) accepts and how long it keeps it.
///
/// The default keeps everything: any order, the last of several samples of one time, no limit but
/// the process' memory.
#[derive(Clone, Debug, Default)]
pub struct DbOptions {
    /// What becomes of a sample whose timestamp the series has already.
    pub duplicates: DuplicatePolicy,
    /// How much older than its series' newest sample a sample may be, in milliseconds; older ones
    /// are refused with [`Error::OutOfOrder`](crate::Error::OutOfOrder). `None` accepts any age,
    /// `Some(0)` only ascending timestamps.
    pub out_of_order_window_ms: Option<u64>,
    /// What is deleted by itself.
    pub retention: Retention,
    /// What is refused.
    pub limits: Limits,
}

/// What becomes of a sample whose timestamp its series has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// The new one replaces the old one, so that a repeated write changes nothing.
    #[default]
    LastWins,
    /// The new one is dropped; that is no error.
    FirstWins,
    /// Both stay, in order of arrival.
    KeepAll,
    /// The new one is refused with
    /// [`Error::DuplicateTimestamp`](crate::Error::DuplicateTimestamp).
    Reject,
}

/// What is deleted by itself, oldest first. Whole blocks of up to 2,048 samples are freed; reads
/// never show a sample beyond the age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Samples older than this, by the system's clock, are deleted. In milliseconds.
    pub age_ms: Option<u64>,
    /// When samples occupy more bytes than this, the oldest are deleted.
    pub bytes: Option<usize>,
}

/// What is refused, with a typed error. A refused write changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most series at a time.
    pub series: Option<usize>,
    /// The most bytes that samples, labels, the index and metadata may occupy. Checked whenever
    /// memory is taken, so that writes into memory that a series has already still succeed.
    pub bytes: Option<usize>,
    /// The most labels of a series, the metric's name included.
    pub labels_per_series: usize,
    /// The longest label name, in bytes.
    pub label_name_bytes: usize,
    /// The longest label value, in bytes.
    pub label_value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            series: None,
            bytes: None,
            labels_per_series: 64,
            label_name_bytes: 1024,
            label_value_bytes: 4096,
        }
    }
}

impl Limits {
    /// Whether a series may have `labels`.
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
    Err(Error::LabelTooLong {
        name: name.chars().take(64).collect(),
        max,
        actual: part.len(),
    })
}
