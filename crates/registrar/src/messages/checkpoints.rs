use std::fmt;

use message_store::{Bookmark, MessageStore as _};
use serde::Serialize;

use super::Target;
use crate::failure::Failure;
use crate::output::{Output, bold, printable};
use crate::place::Access;

/// List the consumers with their checkpoints, and how far each is behind the last message.
#[derive(clap::Args)]
pub(crate) struct ListCheckpoints {
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Checkpoint {
    consumer: String,
    /// The last message that it has handled: its global position and its id.
    handled: String,
    /// The global position of the last message, minus that of the handled one.
    behind: u64,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let consumer = printable(&self.consumer);
        write!(
            formatter,
            "{} at {}, {} behind",
            bold(consumer),
            self.handled,
            self.behind
        )
    }
}

impl ListCheckpoints {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.target.open(Access::Look).await?;
        let head = store.head().await?;
        let number = |place: Bookmark| place.position.get();
        for checkpoint in store.all_checkpoints().await? {
            output.print(&Checkpoint {
                handled: checkpoint.handled.to_string(),
                behind: head
                    .map_or(0, number)
                    .saturating_sub(number(checkpoint.handled)),
                consumer: checkpoint.consumer,
            })?;
        }
        store.close().await;
        Ok(())
    }
}
