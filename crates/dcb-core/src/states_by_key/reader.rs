use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use store_fault::shared;

use super::StatesByKey;
use crate::Error;

/// Reads the states that a read model keeps by key. Cheap to clone; clones share the connections.
///
/// A read sees the states as of the last batch that the runner has committed. A replica that serves the reads
/// of a store may be behind. Before the first batch there is no table, and every state is the initial one.
#[derive(Clone)]
pub struct StateReader<S> {
    rows: Arc<dyn StateRows>,
    initial: S,
}

/// The rows of a table of states.
pub(crate) trait StateRows: Send + Sync {
    /// The text of the state of a key.
    fn get(&self, key: String) -> BoxFuture<'_, Result<Option<String>, Error>>;

    /// The first keys after `after` in the order of their bytes, with their states.
    fn list(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<(String, String)>, Error>>;
}

impl<S: Clone + DeserializeOwned> StateReader<S> {
    pub(crate) fn new(states: &StatesByKey<S>, rows: impl StateRows + 'static) -> Self {
        Self {
            rows: Arc::new(rows),
            initial: states.initial.clone(),
        }
    }

    /// The state of a key: the initial one if no event has changed it. Costs one look-up.
    ///
    /// # Errors
    /// [`Error::Json`] if the stored state does not have the form of `S`; [`Error::Fault`] from the database.
    pub async fn get(&self, key: &str) -> Result<S, Error> {
        match self.rows.get(key.to_owned()).await? {
            Some(text) => decode(&text),
            None => Ok(self.initial.clone()),
        }
    }

    /// The first `limit` keys after the key `after`, with their states, in the order of the keys' bytes. Keys in
    /// the initial state are left out. To read all, pass the last key of each page.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    pub async fn list(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, S)>, Error> {
        let rows = self.rows.list(after.map(str::to_owned), limit).await?;
        let rows = rows.into_iter();
        rows.map(|(key, text)| Ok((key, decode(&text)?))).collect()
    }
}

fn decode<S: DeserializeOwned>(text: &str) -> Result<S, Error> {
    serde_json::from_str(text).map_err(|failed| Error::Json {
        source: shared(failed),
    })
}

impl<S> fmt::Debug for StateReader<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StateReader")
            .finish_non_exhaustive()
    }
}
