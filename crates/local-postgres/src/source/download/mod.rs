//! PostgreSQL's binaries from Maven Central, kept in the user's cache folder.

use super::Found;
use crate::{Missing, Options, Source};

#[cfg(not(feature = "download"))]
#[expect(clippy::unused_async, reason = "same signature as with the feature")]
pub(crate) async fn start(_options: &Options) -> Result<Found, Missing> {
    Err(Missing::absent(
        Source::Download,
        "built without the feature `download`",
    ))
}

#[cfg(feature = "download")]
pub(crate) async fn start(options: &Options) -> Result<Found, Missing> {
    let binaries = archive::binaries(options.version)
        .await
        .map_err(|reason| Missing::absent(Source::Download, reason))?;
    let server = crate::process::postmaster::Postmaster::start(&binaries, options)
        .await
        .map_err(|reason| Missing::failed(Source::Download, reason))?;
    let origin = format!("download in {}", binaries.display());
    Ok(Found::of_process(Source::Download, origin, server))
}

#[cfg(feature = "download")]
mod archive;
