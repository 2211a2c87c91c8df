//! The health service: whether the store answers.

use std::time::Duration;

use dcb_core::EventStore;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// The services that clients ask about: the server as a whole, and the event store.
const SERVICES: [&str; 2] = ["", "umadb.v1.DCB"];
/// How often the store is asked.
const BETWEEN: Duration = Duration::from_secs(5);

/// Keeps the health up to date. Does not end.
pub(crate) async fn watch<S: EventStore>(store: &S, reporter: &HealthReporter) {
    let mut was_healthy = true;
    loop {
        tokio::time::sleep(BETWEEN).await;
        let health = store.health().await;
        if let (Err(failed), true) = (&health, was_healthy) {
            tracing::warn!(%failed, "the event store does not answer, so gRPC's health is NOT_SERVING");
        }
        was_healthy = health.is_ok();
        report(reporter, was_healthy).await;
    }
}

/// Reports `NOT_SERVING`, and ends the streams that watch the health.
pub(crate) async fn end(mut reporter: HealthReporter) {
    report(&reporter, false).await;
    for service in SERVICES {
        reporter.clear_service_status(service).await;
    }
}

pub(crate) async fn report(reporter: &HealthReporter, is_healthy: bool) {
    let status = match is_healthy {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    };
    for service in SERVICES {
        reporter.set_service_status(service, status).await;
    }
}
