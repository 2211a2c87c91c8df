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
