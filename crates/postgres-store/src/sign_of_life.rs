//! How a connection is found dead that says nothing.
//!
//! A host that loses power, a firewall or a NAT that forgets a connection send no message that it is
//! gone. The operating system's keep-alive and user timeout would find out, but the driver gives no
//! access to the socket. So the stores ask idle connections for a sign of life. For the other
//! direction, a session asks the server to look after its end of the connection.

use std::time::Duration;

/// How often an idle connection is asked for a sign of life.
pub(crate) const EVERY: Duration = Duration::from_secs(2);
/// How long a server may take to answer a ping.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// How long opening a connection may take.
pub(crate) const OPENING: Duration = Duration::from_secs(5);
/// How long the server may wait for a client without a time limit. Its handler may do something else
/// meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The server ends a session whose client is gone within some ten seconds, and frees its locks.
pub(crate) const OF_SERVER: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "10000"),
];
