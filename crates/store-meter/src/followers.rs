use crate::{Counter, Gauge, Scope, Share};

/// The metrics of those that follow a store: its subscriptions and runners.
#[derive(Clone, Debug, Default)]
pub struct FollowerMeter {
    open: Gauge,
    lag: Gauge,
    waits: Counter,
    retries: Counter,
}

impl FollowerMeter {
    /// The handles `{prefix}_followers`, `{prefix}_follower_lag_positions`,
    /// `{prefix}_follower_waits_total` and `{prefix}_follower_retries_total`.
    pub fn new(scope: &Scope) -> Self {
        Self {
            open: scope.gauge("followers", "Subscriptions and runners"),
            lag: scope.gauge(
                "follower_lag_positions",
                "Positions that followers have still to read or to handle, when they last looked; the sum of all",
            ),
            waits: scope.counter(
                "follower_waits_total",
                "Times that a follower had read everything and waited for more",
            ),
            retries: scope.counter(
                "follower_retries_total",
                "Times that a follower tried again after a transient error",
            ),
        }
    }

    /// A follower begins. Keep the share until it ends.
    pub fn begins(&self) -> Share {
        self.open.one()
    }

    /// The lag of a follower that begins.
    pub fn lag(&self) -> Share {
        self.lag.share()
    }

    /// A follower has read everything, and waits for more.
    pub fn waits(&self) {
        self.waits.add(1);
    }

    /// A follower tries again after a transient error.
    pub fn retries(&self) {
        self.retries.add(1);
    }
}
