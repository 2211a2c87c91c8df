use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use foldhash::fast::RandomState;

use super::histogram::{Counted, Histogram};

/// The interfaces that requests are grouped by.
pub(super) const INTERFACES: [&str; 5] = ["events", "messages", "series", "demo", "server"];

/// The status classes. 1xx counts as 2xx.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Request counts by path template. All templates are known at the start, so counting takes no lock
/// and no allocation, and unknown paths cannot create new series.
#[derive(Debug)]
pub(super) struct Requests {
    // A fast hash is safe: the keys are the templates, which no client chooses.
    routes: HashMap<String, Route, RandomState>,
    /// Counts for unknown paths.
    other: Route,
}

/// The request counts of one template.
#[derive(Debug)]
pub(super) struct Route {
    /// Index in [`INTERFACES`].
    interface: usize,
    statuses: [AtomicU64; CLASSES.len()],
    durations: Histogram,
}

impl Requests {
    pub(super) fn new(templates: impl IntoIterator<Item = String>) -> Self {
        let routes = templates.into_iter().map(|template| {
            let route = Route::new(interface_of(&template));
            (template, route)
        });
        Self {
            routes: routes.collect(),
            other: Route::new(interface_of("")),
        }
    }

    /// The counters for a request.
    pub(super) fn route(&self, request: &Request) -> &Route {
        request
            .extensions()
            .get::<MatchedPath>()
            .and_then(|path| self.routes.get(path.as_str()))
            .unwrap_or(&self.other)
    }

    /// The routes with at least one request.
    pub(super) fn called(&self) -> impl Iterator<Item = (&str, &Route, Counted)> {
        let routes = self.routes.iter();
        routes
            .map(|(template, route)| (template.as_str(), route))
            .chain([("other", &self.other)])
            .map(|(template, route)| (template, route, route.durations.counted()))
            .filter(|(_, _, counted)| counted.count() > 0)
    }

    /// The durations of each interface.
    pub(super) fn by_interface(&self) -> [Counted; INTERFACES.len()] {
        let mut sums = [const { Counted::NONE }; INTERFACES.len()];
        for (_, route, counted) in self.called() {
            sums[route.interface].add(&counted);
        }
        sums
    }
}

impl Route {
    fn new(interface: usize) -> Self {
        Self {
            interface,
            statuses: Default::default(),
            durations: Histogram::default(),
        }
    }

    pub(super) fn add(&self, status: StatusCode, duration: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        self.statuses[class.min(CLASSES.len() - 1)].fetch_add(1, Ordering::Relaxed);
        self.durations.add(duration);
    }

    pub(super) fn interface(&self) -> &'static str {
        INTERFACES[self.interface]
    }

    /// The status classes with at least one response, and their counts.
    pub(super) fn statuses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self
            .statuses
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        CLASSES
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
    }
}

/// The index of the interface that a template belongs to.
fn interface_of(template: &str) -> usize {
    let first = template.split('/').nth(1).unwrap_or_default();
    match first {
        "dcb" => 0,
        "rpc" | "subscribe" | "import" | "version" => 1,
        "series" | "api" | "write" | "federate" | "ping" | "-" => 2,
        "demo" => 3,
        _ => INTERFACES.len() - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_selects_its_interface() {
        for (template, interface) in [
            ("/dcb/append", "events"),
            ("/rpc", "messages"),
            ("/series/write", "series"),
            ("/api/v1/label/{name}/values", "series"),
            ("/write", "series"),
            ("/demo/rush", "demo"),
            ("/", "server"),
            ("/health", "server"),
            ("", "server"),
        ] {
            assert_eq!(INTERFACES[interface_of(template)], interface, "{template}");
        }
    }

    #[test]
    fn responses_are_counted_by_status_class() {
        let route = Route::new(0);
        for status in [
            StatusCode::OK,
            StatusCode::NO_CONTENT,
            StatusCode::CONFLICT,
            StatusCode::SERVICE_UNAVAILABLE,
        ] {
            route.add(status, Duration::from_millis(1));
        }
        let statuses: Vec<_> = route.statuses().collect();
        assert_eq!(statuses, [("2xx", 2), ("4xx", 1), ("5xx", 1)]);
        assert_eq!(route.durations.counted().count(), 4);
    }
}
