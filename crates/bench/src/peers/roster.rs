//! The peers.

use super::npm::{self, Npm};
use serde::{Deserialize, Serialize};

/// Peers that a reader would choose between. Ratios compare only peers of one ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ground {
    /// Events, in the process of the caller.
    Embedded,
    /// Events, on a server.
    Server,
    /// Messages.
    Messages,
    /// Time series, in the process of the caller.
    Series,
}

impl Ground {
    /// All grounds, in the order of the page.
    pub const ALL: [Self; 4] = [Self::Embedded, Self::Server, Self::Messages, Self::Series];

    /// The short name of our store there, which the others are compared with.
    pub(super) fn ours(self) -> Option<&'static str> {
        let ours = PEERS.iter().find(|peer| peer.ground == self);
        ours.map(|peer| peer.key)
    }

    /// The heading of its tables.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Embedded => "Events, embedded",
            Self::Server => "Events, on a server",
            Self::Messages => "Messages",
            Self::Series => "Time series",
        }
    }

    /// Whether its stores take appends on a condition, so that the referee can race them.
    pub(super) fn has_races(self) -> bool {
        matches!(self, Self::Embedded | Self::Server)
    }
}

/// The place of a peer's data, a new one for each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    /// A temporary folder.
    Folder,
    /// A database of the run's PostgreSQL.
    Database,
    /// Such a database, and before it the folder of packages from npm.
    DatabaseWith(Npm),
}

/// A program that measures one store.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// A short name for the command line.
    pub key: &'static str,
    /// Its ground. The first peer of a ground is ours.
    pub ground: Ground,
    /// Its package.
    pub(super) package: &'static str,
    /// The folder of its workspace, below `benches/peers`.
    pub(super) workspace: &'static str,
    /// Arguments before its place.
    pub(super) arguments: &'static [&'static str],
    pub(super) place: Place,
    /// Our package that serves it, if it calls our store.
    pub(super) server: Option<&'static str>,
    /// Whether the page shows it on logs of several sizes.
    pub grows: bool,
}

const OURS: &str = "peer-ours";

impl Peer {
    /// Whether it is one of our stores.
    pub(super) fn is_ours(&self) -> bool {
        self.package == OURS || self.server == Some(OURS)
    }
}

const fn peer(
    key: &'static str,
    ground: Ground,
    package: &'static str,
    arguments: &'static [&'static str],
    place: Place,
) -> Peer {
    Peer {
        key,
        ground,
        package,
        workspace: "",
        arguments,
        place,
        server: None,
        grows: false,
    }
}

/// A peer with its own workspace.
const fn alone(
    key: &'static str,
    ground: Ground,
    package: &'static str,
    workspace: &'static str,
    place: Place,
) -> Peer {
    Peer {
        key,
        ground,
        package,
        workspace,
        arguments: &[],
        place,
        server: None,
        grows: false,
    }
}

/// Our store, on logs of several sizes too.
const fn growing(
    key: &'static str,
    ground: Ground,
    arguments: &'static [&'static str],
    place: Place,
) -> Peer {
    Peer {
        grows: true,
        ..peer(key, ground, OURS, arguments, place)
    }
}

/// Our store, called by UmaDB's client.
const fn by_umadb_client(
    key: &'static str,
    arguments: &'static [&'static str],
    place: Place,
) -> Peer {
    Peer {
        arguments,
        server: Some(OURS),
        ..alone(key, Ground::Server, "peer-umadb", "umadb", place)
    }
}

/// Stores that a reader may look for, and why no row has them.
pub(super) const ABSENT: [(&str, &str); 3] = [
    (
        "go-crablet",
        "the Go module proxy does not serve its module",
    ),
    (
        "Axon Server",
        "it needs a JVM, which this program does not start",
    ),
    (
        "Marten, Polecat",
        "they need .NET, which this program does not start",
    ),
];

/// All peers. Ours comes first in each ground.
pub const PEERS: [Peer; 18] = [
    growing("sqlite", Ground::Embedded, &["sqlite"], Place::Folder),
    peer(
        "tephra",
        Ground::Embedded,
        "peer-tephra",
        &[],
        Place::Folder,
    ),
    peer("redb", Ground::Embedded, "peer-redb", &[], Place::Folder),
    peer("fjall", Ground::Embedded, "peer-fjall", &[], Place::Folder),
    peer("memory", Ground::Embedded, OURS, &["memory"], Place::Memory),
    growing("postgres", Ground::Server, &["postgres"], Place::Database),
    peer(
        "lock",
        Ground::Server,
        "peer-textbook",
        &["lock"],
        Place::Database,
    ),
    peer(
        "serializable",
        Ground::Server,
        "peer-textbook",
        &["serializable"],
        Place::Database,
    ),
    alone(
        "disintegrate",
        Ground::Server,
        "peer-disintegrate",
        "disintegrate",
        Place::Database,
    ),
    peer(
        "dcb-es",
        Ground::Server,
        "peer-dcb-es",
        &[],
        Place::DatabaseWith(npm::DCB_ES),
    ),
    alone(
        "umadb",
        Ground::Server,
        "peer-umadb",
        "umadb",
        Place::Folder,
    ),
    by_umadb_client("grpc-sqlite", &["registrar", "sqlite"], Place::Folder),
    by_umadb_client("grpc-postgres", &["registrar", "postgres"], Place::Database),
    growing(
        "messages",
        Ground::Messages,
        &["messages", "postgres"],
        Place::Database,
    ),
    peer(
        "message-db",
        Ground::Messages,
        "peer-textbook",
        &["message-db"],
        Place::DatabaseWith(npm::MESSAGE_DB),
    ),
    growing(
        "messages-sqlite",
        Ground::Messages,
        &["messages", "sqlite"],
        Place::Folder,
    ),
    growing("series", Ground::Series, &["series"], Place::Folder),
    Peer {
        grows: true,
        ..peer("tsink", Ground::Series, "peer-tsink", &[], Place::Folder)
    },
];
