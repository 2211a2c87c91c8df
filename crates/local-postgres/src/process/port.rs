//! A loopback port for a server.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    net::TcpListener,
    ops::Range,
};

/// Below the ports that Linux and macOS hand to outgoing connections: the server must get its own
/// back after a crash.
const PORTS: Range<u16> = 20_000..32_000;

const TRIES: usize = 100;

/// A random port that was free a moment ago. Somebody may take it before the server does.
pub(crate) fn free() -> io::Result<u16> {
    let span = u64::from(PORTS.end - PORTS.start);
    let candidates = std::iter::repeat_with(|| {
        // Keyed anew, an empty hash is a random number: enough for this, without a crate.
        let random = RandomState::new().build_hasher().finish() % span;
        PORTS.start + u16::try_from(random).unwrap_or_default()
    });
    let mut free = candidates.take(TRIES).filter(|port| is_free(*port));
    free.next()
        .ok_or_else(|| io::Error::other(format!("no free port among {PORTS:?}")))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
