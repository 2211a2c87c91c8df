use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use dcb_core::{AnyStore, Bookmark, EventStore as _, Query, ReadOptions, ndjson};

use super::filter::Filter;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, Place};
use crate::progress::Progress;

/// Write events as NDJSON, one a line, with their ids, times and commands; of a whole log also the
/// upstream positions that it tracks.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The log.
    place: Place,
    /// The new file [default: the standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    /// Only events after this one: a position, or position@id.
    #[arg(long, value_name = "POSITION")]
    after: Option<Bookmark>,
}

impl Export {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let query = self.filter.query()?;
        let store = self.place.events(Access::Look).await?;
        let options = ReadOptions::new().after(self.after);
        match self.output {
            Some(path) => {
                let mut file = BufWriter::new(create(&path)?);
                write(&store, &query, options, &mut file).await?;
                file.get_ref().sync_all()?;
            }
            None => write(&store, &query, options, output.writer()).await?,
        }
        store.close().await;
        Ok(())
    }
}

/// Creates a file, and leaves one that exists as it is.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|failed| Failure::from(failed).in_context(path.display()))
}

async fn write(
    store: &AnyStore,
    query: &Query,
    options: ReadOptions,
    out: &mut (impl Write + Send),
) -> Result<(), Failure> {
    let total = store.extent(query, ..).await?.count;
    let progress = Progress::new("events", options.after.is_none().then_some(total));
    let report = |so_far: ndjson::Exported| progress.set(so_far.events);
    ndjson::export(store, query, options, out, report).await?;
    Ok(())
}
