//! A container of PostgreSQL, through testcontainers.

use super::Found;
use crate::{Missing, Options, Source};

#[cfg(not(feature = "container"))]
#[expect(clippy::unused_async, reason = "same signature as with the feature")]
pub(crate) async fn start(_options: &Options) -> Result<Found, Missing> {
    Err(Missing::absent(
        Source::Container,
        "built without the feature `container`",
    ))
}

#[cfg(feature = "container")]
pub(crate) async fn start(options: &Options) -> Result<Found, Missing> {
    let (container, image) = Container::start(options).await?;
    Ok(Found {
        source: Source::Container,
        origin: format!("container of {image}"),
        url: container.url().to_owned(),
        socket_url: None,
        server: super::Server::Container(container),
        failed: Vec::new(),
    })
}

#[cfg(feature = "container")]
mod engine;

#[cfg(feature = "container")]
pub(crate) use engine::Container;
