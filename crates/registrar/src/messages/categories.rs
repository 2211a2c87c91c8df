use std::fmt;

use message_store::{CategoryInfo, MessageStore as _};
use serde::Serialize;

use super::Target;
use crate::failure::Failure;
use crate::output::{Output, bold, printable};
use crate::place::Access;

/// List the categories, with the numbers of their streams and messages.
#[derive(clap::Args)]
pub(crate) struct ListCategories {
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Category {
    category: String,
    streams: u64,
    messages: u64,
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.category);
        write!(
            formatter,
            "{} {} messages in {} streams",
            bold(name),
            self.messages,
            self.streams
        )
    }
}

impl ListCategories {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.target.open(Access::Look).await?;
        for CategoryInfo {
            category,
            stream_count: streams,
            message_count: messages,
        } in store.list_categories().await?
        {
            output.print(&Category {
                category,
                streams,
                messages,
            })?;
        }
        store.close().await;
        Ok(())
    }
}
