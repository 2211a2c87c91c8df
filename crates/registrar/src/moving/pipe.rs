//! An export that an import reads while it is written.

use std::io::{BufReader, BufWriter, PipeReader, PipeWriter, pipe};

use tokio::task::spawn_blocking;

use crate::failure::{Failure, Kind};

/// Runs an export and an import on two threads, with a pipe between them. So a copy needs memory for one
/// batch, and both sides work at once.
pub(super) async fn through<T, E, I>(export: E, import: I) -> Result<T, Failure>
where
    T: Send + 'static,
    E: FnOnce(BufWriter<PipeWriter>) -> Result<(), Failure> + Send + 'static,
    I: FnOnce(BufReader<PipeReader>) -> Result<T, Failure> + Send + 'static,
{
    let (reader, writer) = pipe()?;
    let exported = spawn_blocking(move || export(BufWriter::new(writer)));
    let imported = spawn_blocking(move || import(BufReader::new(reader)));
    let (exported, imported) = tokio::join!(exported, imported);
    let panicked = |_| Failure::unusable("the copy panicked");
    let (exported, imported) = (exported.map_err(panicked)?, imported.map_err(panicked)?);
    match exported {
        // The import closed the pipe, and knows why.
        Err(failed) if failed.kind == Kind::NoReader => imported.and(Err(failed)),
        // The import read an output that ends early.
        Err(failed) => Err(failed),
        Ok(()) => imported,
    }
}
