use message_store::{
    Category, CategoryRead, GlobalPosition, MessageStore as _, StreamName, StreamRead,
    SubscribeOptions,
};

use super::Target;
use super::text::print;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::Access;

/// Print the messages of a stream, of a category or of the whole store.
#[derive(clap::Args)]
pub(crate) struct Read {
    #[command(flatten)]
    target: Target,
    /// Only this stream.
    #[arg(long)]
    stream: Option<StreamName>,
    /// Only this category.
    #[arg(long, conflicts_with = "stream")]
    category: Option<Category>,
    /// Begin at this position: of the stream from 0, otherwise a global one from 1.
    #[arg(long)]
    from: Option<u64>,
    /// At most this number of messages.
    #[arg(long, default_value_t = 1000)]
    limit: u64,
    /// Go on with new messages, until Ctrl-C; not for a single stream.
    #[arg(short, long, conflicts_with_all = ["stream", "limit"])]
    follow: bool,
}

impl Read {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.target.open(Access::Look).await?;
        let category = self.category.unwrap_or_else(Category::all);
        let global = self.from.map_or(GlobalPosition::START, GlobalPosition::new);
        if self.follow {
            let options = SubscribeOptions::new();
            let mut messages = store.subscribe_to_category(category, global, options);
            loop {
                print(output, &messages.next().await?)?;
                output.flush()?;
            }
        }
        let messages = match self.stream {
            Some(stream) => {
                let read = StreamRead::new().position(self.from.unwrap_or(0).into());
                store
                    .get_stream_messages(&stream, read.batch_size(self.limit))
                    .await?
            }
            None => {
                let read = CategoryRead::new().position(global);
                store
                    .get_category_messages(&category, read.batch_size(self.limit))
                    .await?
            }
        };
        for message in &messages {
            print(output, message)?;
        }
        store.close().await;
        Ok(())
    }
}
