use std::io::BufWriter;
use std::path::PathBuf;

use message_store::{Category, GlobalPosition, MessageStore as _, ndjson};

use super::Target;
use crate::events::create;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::Access;
use crate::progress::Progress;

/// Write messages as lines of JSON, with their ids, positions and times; of a whole store also the
/// checkpoints of its consumers.
#[derive(clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    target: Target,
    /// The new file [default: the standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only this category.
    #[arg(long)]
    category: Option<Category>,
    /// Only messages from this global position on.
    #[arg(long)]
    from: Option<u64>,
    /// Compress with gzip. An import recognises it.
    #[arg(long)]
    gzip: bool,
}

impl Export {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.target.open(Access::Look).await?;
        let mut options = ndjson::ExportOptions::default();
        options.category = self.category.unwrap_or_else(Category::all);
        options.from = self.from.map_or(GlobalPosition::START, GlobalPosition::new);
        options.gzip = self.gzip;
        let progress = Progress::new("messages", None);
        let report = |messages| progress.set(messages);
        match self.output {
            Some(path) => {
                let mut file = BufWriter::new(create(&path)?);
                ndjson::export(&store, &mut file, options, report).await?;
                file.get_ref().sync_all()?;
            }
            None => drop(ndjson::export(&store, output.writer(), options, report).await?),
        }
        store.close().await;
        Ok(())
    }
}
