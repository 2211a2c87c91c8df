use crate::{Counter, Gauge, Histogram, Scope, Share, Timer};

/// The metrics of reads and of the pool of their connections.
#[derive(Clone, Debug, Default)]
pub struct PoolMeter {
    open: Gauge,
    in_use: Gauge,
    wait: Histogram,
    read: Histogram,
    opened: Counter,
    lost: Counter,
    pinned: [Counter; Holder::ALL.len()],
}

/// A user of the write-ahead log of a SQLite file, which cannot begin again meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A read of a page or of single rows.
    Page,
    /// A read that may go over all rows, such as a count.
    Scan,
    /// A backup.
    Backup,
    /// A connection that is not the store's: of another process, or of the program.
    Other,
}

impl Holder {
    const ALL: [Self; 4] = [Self::Page, Self::Scan, Self::Backup, Self::Other];

    /// The name in metrics and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Scan => "scan",
            Self::Backup => "backup",
            Self::Other => "other",
        }
    }
}

impl PoolMeter {
    /// The handles `{prefix}_pool_…`, and `{prefix}_read_seconds`.
    pub fn new(scope: &Scope) -> Self {
        Self {
            open: scope.gauge("pool_connections", "Open connections for reads"),
            in_use: scope.gauge(
                "pool_connections_in_use",
                "Connections for reads that a read has now; the other open ones are idle",
            ),
            wait: scope.seconds(
                "pool_wait_seconds",
                "Time that a read waited for a connection",
            ),
            read: scope.seconds("read_seconds", "Time that a read had its connection"),
            opened: scope.counter(
                "pool_connections_opened_total",
                "Connections for reads that were opened",
            ),
            lost: scope.counter(
                "pool_connections_lost_total",
                "Connections for reads that turned out to be dead or unusable",
            ),
            pinned: Holder::ALL.map(|holder| {
                scope.with("read", holder.name()).counter(
                    "write_ahead_log_pinned_total",
                    "Times that a read kept the write-ahead log of a SQLite file above its bound, by read",
                )
            }),
        }
    }

    /// A connection was opened. Keep the share until it is closed.
    pub fn opened(&self) -> Share {
        self.opened.add(1);
        self.open.one()
    }

    /// A read got a connection after a wait. Keep the value until the read gives it back.
    #[inline]
    pub fn borrowed(&self, asked: Timer) -> Borrowed {
        self.wait.record_since(asked);
        self.read_with(self.in_use.one())
    }

    /// A read that needs no connection of a pool. Keep the value until it ends.
    #[inline]
    pub fn reading(&self) -> Borrowed {
        self.read_with(Share::default())
    }

    fn read_with(&self, in_use: Share) -> Borrowed {
        Borrowed {
            _in_use: in_use,
            read: self.read.clone(),
            begun: Timer::start(),
        }
    }

    /// This read kept a write-ahead log above its bound.
    pub fn pinned(&self, holder: Holder) {
        self.pinned[holder as usize].add(1);
    }

    /// A connection was lost, or the server has spoiled its session.
    pub fn lost(&self) {
        self.lost.add(1);
    }
}

/// A read under way. Dropping it records its time.
#[derive(Debug)]
pub struct Borrowed {
    _in_use: Share,
    read: Histogram,
    begun: Timer,
}

impl Drop for Borrowed {
    #[inline]
    fn drop(&mut self) {
        self.read.record_since(self.begun);
    }
}
