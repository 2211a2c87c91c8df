use std::fmt;
use std::path::PathBuf;

use message_store::{MessageStore as _, ndjson};
use serde::Serialize;

use super::Target;
use crate::events::open_input;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::Access;
use crate::progress::Progress;

/// Store the messages of an export with their ids, positions and times, and the checkpoints. Importing
/// again, also after an interruption, skips stored messages. A missing file or schema is created.
#[derive(clap::Args)]
pub(crate) struct Import {
    #[command(flatten)]
    target: Target,
    /// The file with the lines, compressed or not; - reads the standard input.
    input: PathBuf,
}

#[derive(Serialize)]
struct Imported {
    read: u64,
    stored: u64,
}

impl fmt::Display for Imported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} messages read, {} of them new",
            self.read, self.stored
        )
    }
}

impl Import {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let input = open_input(&self.input)?;
        let store = self.target.open(Access::Create).await?;
        let progress = Progress::new("messages", None);
        let report = |so_far: ndjson::Imported| progress.set(so_far.read);
        let imported = ndjson::import(&store, input, report).await?;
        drop(progress);
        store.close().await;
        let ndjson::Imported { read, stored } = imported;
        Ok(output.print(&Imported { read, stored })?)
    }
}
