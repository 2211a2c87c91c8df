//! A loopback port for a server.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    net::TcpListener,
    ops::Range,
};

/// The ports to choose from. They lie below those that Linux and macOS assign to outgoing
/// connections, so that a server can take its port again after a crash.
const PORTS: Range<u16> = 20_000..32_000;

const TRIES: usize = 100;

/// A random port that was free a moment ago. Another process may take it before the server does.
pub(crate) fn free() -> io::Result<u16> {
    let span = u64::from(PORTS.end - PORTS.start);
    let candidates = std::iter::repeat_with(|| {
        // `RandomState` has random keys, so the hash of nothing is a random number. This saves a
        // dependency.
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
