use std::collections::BTreeMap;

use super::{Db, Inner};
use crate::{Error, Metadata};

/// What is known of metrics.
impl Db {
    /// Says what is known of a metric; replaces what was said before. It stays when the metric's
    /// series end; the default, which says nothing, takes it away.
    ///
    /// # Errors
    /// [`Error::MemoryFull`] where it is longer than what was said before and would be too much, and
    /// those of the log, if there is one.
    pub fn set_metadata(&self, metric: &str, metadata: Metadata) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut all = inner.metadata.write();
        let before = all.get(metric).map_or(0, |known| size_bytes(metric, known));
        let growth = size_bytes(metric, &metadata).saturating_sub(before);
        if growth > 0 {
            inner.usage.check_room(growth, &inner.options.limits)?;
        }
        let ticket = match &inner.journal {
            Some(journal) => Some(journal.metadata(metric, &metadata)?),
            None => None,
        };
        inner.describe(&mut all, metric, metadata);
        drop(all);
        inner.settle(ticket)
    }

    /// What is known of a metric.
    pub fn metadata(&self, metric: &str) -> Option<Metadata> {
        self.inner.metadata.read().get(metric).cloned()
    }

    /// What is known of all metrics, by name.
    pub fn all_metadata(&self) -> BTreeMap<String, Metadata> {
        self.inner.metadata.read().clone()
    }
}

impl Inner {
    /// Keeps, under their lock, what was said of a metric.
    pub(super) fn describe(
        &self,
        all: &mut BTreeMap<String, Metadata>,
        metric: &str,
        mut metadata: Metadata,
    ) {
        metadata.help.shrink_to_fit();
        let after = size_bytes(metric, &metadata);
        let replaced = match after {
            0 => all.remove(metric),
            _ => all.insert(metric.to_owned(), metadata),
        };
        let before = replaced.map_or(0, |replaced| size_bytes(metric, &replaced));
        self.usage.resize_metadata(before, after);
    }
}

/// What it occupies, an estimate; nothing for what says nothing.
fn size_bytes(metric: &str, metadata: &Metadata) -> usize {
    match *metadata == Metadata::default() {
        true => 0,
        false => size_of::<(String, Metadata)>() + metric.len() + metadata.help.len(),
    }
}
