//! The metrics that count from the server's start, and their descriptions.

use std::sync::atomic::Ordering;

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use tsdb::wire::exposition::{CONTENT_TYPE, Escaping, Exposition};
use tsdb::{Metadata, MetricKind};

use super::histogram::Counted;
use super::measured::Measured;
use super::observed::Observed;
use super::projections::{self, Measure};
use super::{process, state};

const COUNTERS: [(&str, &str); 11] = [
    (
        "registrar_http_requests_total",
        "HTTP requests by interface, route and status class",
    ),
    (
        "registrar_http_bodies_refused_total",
        "HTTP requests rejected because of their body size",
    ),
    (
        "registrar_points_written_total",
        "Points written by clients",
    ),
    (
        "registrar_native_histograms_refused_total",
        "Native histograms of remote writes, which are not stored",
    ),
    (
        "registrar_strings_left_out_total",
        "Values in line protocol that are strings, which are not stored",
    ),
    ("registrar_series_queries_total", "Answered series queries"),
    (
        "registrar_forward_samples_sent_total",
        "Samples that the server of --forward-to accepted",
    ),
    (
        "registrar_forward_samples_rejected_total",
        "Samples that the server of --forward-to rejected",
    ),
    (
        "registrar_forward_samples_repeated_total",
        "Samples that the server of --forward-to has from a request whose answer was lost",
    ),
    (
        "registrar_forward_samples_dropped_total",
        "Samples that were not forwarded, by reason: size, age or labels",
    ),
    (
        "registrar_forward_retries_total",
        "Requests to the server of --forward-to that were sent again",
    ),
];

const GAUGES: [(&str, &str); 7] = [
    ("registrar_uptime_seconds", "Time since the server's start"),
    (
        "registrar_http_requests_running",
        "HTTP requests in progress",
    ),
    (
        "registrar_http_requests_waiting",
        "HTTP requests waiting in the queue",
    ),
    ("registrar_subscriptions", "Open subscriptions"),
    (
        "registrar_subscription_unread_bytes",
        "Memory used by what subscribers have not read yet",
    ),
    (
        "registrar_forward_unsent_bytes",
        "Size of the log whose samples are not forwarded yet",
    ),
    (
        "registrar_forward_lag_seconds",
        "How long the oldest sample has waited that is not forwarded yet",
    ),
];

const DURATION: &str = "registrar_http_request_duration_seconds";
const BUCKET: &str = "registrar_http_request_duration_seconds_bucket";
const SUM: &str = "registrar_http_request_duration_seconds_sum";
const COUNT: &str = "registrar_http_request_duration_seconds_count";

type Kind = (MetricKind, &'static [(&'static str, &'static str)]);

/// The metrics in the server's own series, with their metadata: those of the server, then those of the
/// stores.
pub(super) fn descriptions(observed: &Observed) -> impl Iterator<Item = (String, Metadata)> {
    let of_server = described([
        (MetricKind::Counter, &COUNTERS),
        (MetricKind::Gauge, &GAUGES),
        (
            MetricKind::Histogram,
            &[(DURATION, "Time until the response begins")],
        ),
    ]);
    of_server.chain(observed.stores.recorded.descriptions())
}

fn described<const N: usize>(kinds: [Kind; N]) -> impl Iterator<Item = (String, Metadata)> {
    kinds.into_iter().flat_map(|(kind, metrics)| {
        metrics.iter().map(move |(metric, help)| {
            let help = (*help).to_owned();
            ((*metric).to_owned(), Metadata { kind, help })
        })
    })
}

/// The values that the server's own series have too, in Prometheus' text format.
pub(super) fn exposition(observed: &Observed) -> Response {
    let mut measured = Measured::default();
    measured.add_all(observed);
    text(descriptions(observed), measured)
}

/// Like [`exposition`], with these versions, and with what only a look at the process and its files tells.
pub(super) fn with_process(observed: &Observed, versions: &[Measure]) -> Response {
    let more = described([
        (MetricKind::Counter, &process::COUNTERS),
        (MetricKind::Gauge, &process::GAUGES),
        (MetricKind::Counter, &state::COUNTERS),
        (MetricKind::Gauge, &state::GAUGES),
        (MetricKind::Gauge, &projections::GAUGES),
    ]);
    let mut measured = Measured::default();
    measured.add_all(observed);
    process::add(&mut measured);
    state::add(&mut measured, observed);
    projections::add(&mut measured, versions);
    text(descriptions(observed).chain(more), measured)
}

fn text(descriptions: impl Iterator<Item = (String, Metadata)>, measured: Measured) -> Response {
    let mut exposition = Exposition::new();
    for (metric, metadata) in descriptions {
        exposition.describe(metric, metadata);
    }
    for (labels, value) in measured.values {
        exposition.value(labels, value);
    }
    (
        [(header::CONTENT_TYPE, CONTENT_TYPE)],
        exposition.write(Escaping::default()),
    )
        .into_response()
}

impl Measured {
    /// Adds all values that count from the server's start.
    pub(super) fn add_all(&mut self, observed: &Observed) {
        self.add_server(observed);
        self.add_requests(observed);
        self.add_series(observed);
        self.add_forwarding(observed);
        observed.stores.recorded.add_to(self);
    }

    fn add_server(&mut self, observed: &Observed) {
        let load = observed.service.load();
        let refused = observed.bodies_refused.load(Ordering::Relaxed);
        for (metric, value) in [
            ("registrar_uptime_seconds", observed.uptime().as_secs_f64()),
            ("registrar_http_bodies_refused_total", refused as f64),
            ("registrar_http_requests_running", load.running as f64),
            ("registrar_http_requests_waiting", load.waiting as f64),
            ("registrar_subscriptions", load.subscriptions as f64),
            (
                "registrar_subscription_unread_bytes",
                load.unread_bytes as f64,
            ),
        ] {
            self.add(metric, &[], value);
        }
    }

    fn add_requests(&mut self, observed: &Observed) {
        for (template, route, counted) in observed.requests.called() {
            let labels = [("interface", route.interface()), ("route", template)];
            for (class, count) in route.statuses() {
                let labels = [labels[0], labels[1], ("status", class)];
                self.add("registrar_http_requests_total", &labels, count as f64);
            }
            self.add_durations(labels, &counted);
        }
    }

    fn add_durations(&mut self, labels: [(&str, &str); 2], counted: &Counted) {
        let [interface, route] = labels;
        for (bound, count) in counted.cumulated() {
            let labels = [interface, route, ("le", &bound.to_string())];
            self.add(BUCKET, &labels, count as f64);
        }
        let count = counted.count() as f64;
        self.add(BUCKET, &[interface, route, ("le", "+Inf")], count);
        self.add(COUNT, &labels, count);
        self.add(SUM, &labels, counted.sum_seconds());
    }

    fn add_series(&mut self, observed: &Observed) {
        let counters = observed.engine.counters();
        for (metric, value) in [
            ("registrar_points_written_total", counters.points_written()),
            (
                "registrar_native_histograms_refused_total",
                counters.histograms_refused(),
            ),
            ("registrar_strings_left_out_total", counters.not_numbers()),
            ("registrar_series_queries_total", counters.queries_served()),
        ] {
            self.add(metric, &[], value as f64);
        }
    }

    /// Nothing if nothing is forwarded.
    fn add_forwarding(&mut self, observed: &Observed) {
        let Some(forwarding) = &observed.stores.forwarding else {
            return;
        };
        let stats = forwarding.stats();
        for (metric, value) in [
            ("registrar_forward_samples_sent_total", stats.sent),
            ("registrar_forward_samples_rejected_total", stats.rejected),
            ("registrar_forward_samples_repeated_total", stats.repeated),
            ("registrar_forward_retries_total", stats.retries),
            ("registrar_forward_unsent_bytes", stats.unsent_bytes),
        ] {
            self.add(metric, &[], value as f64);
        }
        for (reason, count) in [
            ("size", stats.dropped_for_size),
            ("age", stats.dropped_for_age),
            ("labels", stats.dropped_without_labels),
        ] {
            let labels = [("reason", reason)];
            self.add(
                "registrar_forward_samples_dropped_total",
                &labels,
                count as f64,
            );
        }
        let lag_s = stats.lag.as_secs_f64();
        self.add("registrar_forward_lag_seconds", &[], lag_s);
    }
}
