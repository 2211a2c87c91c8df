use std::fmt;

use jiff::Timestamp;
use message_store::{ListStreams, MessageStore as _};
use serde::Serialize;

use super::Target;
use crate::failure::Failure;
use crate::output::{Output, bold, printable};
use crate::place::Access;

/// List streams by name, with their versions.
#[derive(clap::Args)]
pub(crate) struct Streams {
    #[command(flatten)]
    target: Target,
    /// Only names with this prefix.
    #[arg(long, default_value = "")]
    prefix: String,
    /// Only names after this one.
    #[arg(long, value_name = "NAME")]
    after: Option<String>,
    /// At most this number of streams.
    #[arg(long, default_value_t = 1000)]
    limit: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stream {
    stream: String,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity: Option<Timestamp>,
}

impl fmt::Display for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.stream);
        write!(formatter, "{} version {}", bold(name), self.version)?;
        match self.last_activity {
            Some(time) => write!(formatter, ", last written at {time}"),
            None => Ok(()),
        }
    }
}

impl Streams {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut list = ListStreams::new().prefix(self.prefix).limit(self.limit);
        list.after = self.after;
        let store = self.target.open(Access::Look).await?;
        for stream in store.list_streams(list).await? {
            output.print(&Stream {
                stream: stream.stream_name,
                version: stream.version.get(),
                last_activity: Timestamp::try_from(stream.last_activity).ok(),
            })?;
        }
        store.close().await;
        Ok(())
    }
}
