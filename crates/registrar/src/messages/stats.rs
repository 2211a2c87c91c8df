use std::fmt;

use jiff::Timestamp;
use message_store::MessageStore as _;
use serde::Serialize;

use super::Target;
use crate::failure::Failure;
use crate::output::{Output, bold};
use crate::place::Access;

/// Print how many streams and messages a store has, and when the last message was written.
#[derive(clap::Args)]
pub(crate) struct ShowStats {
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    backend: &'static str,
    streams: u64,
    messages: u64,
    /// The last message: its global position and its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity: Option<Timestamp>,
}

impl fmt::Display for Stats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, streams) = (bold(self.messages), self.streams);
        write!(
            formatter,
            "{messages} messages in {streams} streams, in {}",
            self.backend
        )?;
        if let Some(head) = &self.head {
            write!(formatter, "\nhead {head}")?;
        }
        match self.last_activity {
            Some(time) => write!(formatter, "\nlast written at {time}"),
            None => Ok(()),
        }
    }
}

impl ShowStats {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.target.open(Access::Look).await?;
        let info = store.info().await?;
        let stats = Stats {
            backend: store.health().await?.backend,
            streams: info.stream_count,
            messages: info.message_count,
            head: store.head().await?.map(|head| head.to_string()),
            last_activity: info
                .last_activity
                .and_then(|time| Timestamp::try_from(time).ok()),
        };
        store.close().await;
        Ok(output.print(&stats)?)
    }
}
