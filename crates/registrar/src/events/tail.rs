use dcb_core::{EventStore as _, ReadOptions, SubscribeOptions};

use super::filter::Filter;
use super::text::print;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, Place};

/// Print the last matching events, and with --follow new ones as they are appended.
#[derive(clap::Args)]
pub(crate) struct Tail {
    /// The log.
    place: Place,
    #[command(flatten)]
    filter: Filter,
    /// The number of events.
    #[arg(short = 'n', long, default_value_t = 10)]
    lines: u64,
    /// Go on with new events, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
}

impl Tail {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let query = self.filter.query()?;
        let store = self.place.events(Access::Look).await?;
        let newest = ReadOptions::new().backwards().limit(self.lines);
        let read = store.query(&query, newest).await?;
        for event in read.events.iter().rev() {
            print(output, event)?;
        }
        output.flush()?;
        if self.follow {
            let mut events = store.subscribe(query, read.head, SubscribeOptions::new());
            while let Some(event) = events.next().await {
                print(output, &event?)?;
                output.flush()?;
            }
        }
        store.close().await;
        Ok(())
    }
}
