use std::time::Instant;

use dcb_core::EventStore as _;
use tsdb::STALE_MARKER;

use super::histogram::Counted;
use super::measured::Measured;
use super::observed::Observed;
use super::requests::INTERFACES;

/// The counters at one time. A rate is the difference between the counters at two times.
#[derive(Debug)]
pub(super) struct Rates {
    at: Instant,
    interfaces: [Counted; INTERFACES.len()],
    /// Whether the interface had requests in the second before.
    active: [bool; INTERFACES.len()],
    events: u64,
    messages: u64,
    points: u64,
}

impl Rates {
    pub(super) fn start(observed: &Observed) -> Self {
        Self {
            at: Instant::now(),
            interfaces: observed.requests.by_interface(),
            active: [false; INTERFACES.len()],
            events: observed.stores.events.stats().events,
            messages: messages(observed).unwrap_or_default(),
            points: observed.engine.counters().points_written(),
        }
    }

    /// Adds the rates since the last call.
    pub(super) fn advance(&mut self, observed: &Observed, measured: &mut Measured) {
        let next = Self::start(observed);
        let elapsed_s = next.at.duration_since(self.at).as_secs_f64();
        // Saturating: the number of messages falls when a namespace is deleted.
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / elapsed_s;
        for (metric, value) in [
            ("registrar_events_rate", rate(self.events, next.events)),
            (
                "registrar_messages_rate",
                rate(self.messages, next.messages),
            ),
            ("registrar_points_rate", rate(self.points, next.points)),
        ] {
            measured.add(metric, &[], value);
        }
        let mut active = [false; INTERFACES.len()];
        for (index, interface) in INTERFACES.into_iter().enumerate() {
            let recent = next.interfaces[index].since(&self.interfaces[index]);
            let labels = [("interface", interface)];
            let rate = rate(0, recent.count());
            measured.add("registrar_http_request_rate", &labels, rate);
            active[index] = recent.count() > 0;
            if active[index] || self.active[index] {
                for (metric, share) in [
                    ("registrar_http_latency_p50_seconds", 0.5),
                    ("registrar_http_latency_p99_seconds", 0.99),
                ] {
                    // Without requests there is no latency. The marker ends the line in charts.
                    let latency = recent.quantile(share).unwrap_or(STALE_MARKER);
                    measured.add(metric, &labels, latency);
                }
            }
        }
        *self = Self { active, ..next };
    }
}

fn messages(observed: &Observed) -> Option<u64> {
    Some(observed.stores.messages.stats()?.messages_written)
}
