//! PromQL reads the samples of a [`Db`] block by block, as they are decoded.

use promql_engine::{QueryError, Selected, Storage, StorageError, Visit};

use crate::{Db, Labels, Matcher, Selection};

impl Storage for Db {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
    ) -> Result<Box<dyn Selected + '_>, StorageError> {
        Ok(Box::new(self.select(matchers, from_ms, to_ms)))
    }
}

impl Selected for Selection {
    fn count(&self) -> usize {
        self.len()
    }

    fn labels(&self, index: usize) -> &Labels {
        self.at(index).labels()
    }

    fn read(&self, index: usize, visit: Visit<'_>) -> Result<(), QueryError> {
        let mut cursor = self.at(index).cursor();
        while let Some(block) = cursor.next_block() {
            visit(block.timestamps_ms, block.values)?;
        }
        Ok(())
    }
}
