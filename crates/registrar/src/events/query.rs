use dcb_core::{Bookmark, EventStore as _, ReadOptions};

use super::filter::Filter;
use super::text::print;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, Place};

/// Print the matching events of one snapshot.
#[derive(clap::Args)]
pub(crate) struct QueryEvents {
    /// The log.
    place: Place,
    #[command(flatten)]
    filter: Filter,
    /// Only events after this one: a position, or position@id, which checks that the log still has it.
    #[arg(long, value_name = "POSITION")]
    after: Option<Bookmark>,
    /// At most this number of events.
    #[arg(long)]
    limit: Option<u64>,
    /// The newest events first; then --after names the event before which to begin.
    #[arg(long)]
    backwards: bool,
}

impl QueryEvents {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let query = self.filter.query()?;
        let store = self.place.events(Access::Look).await?;
        let mut options = ReadOptions::new().after(self.after).limit(self.limit);
        options.backwards = self.backwards;
        let mut events = store.query_stream(&query, options).await?;
        while let Some(event) = events.next().await {
            print(output, &event?)?;
        }
        store.close().await;
        Ok(())
    }
}
