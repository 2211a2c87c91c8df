//! The interface.

use std::time::Instant;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dcb_core::Error;
use serde_json::{Value, json};
use tsdb::Histogram;
use tsdb::wire::exposition::{Escaping, Exposition};

use crate::Service;
use crate::booking::{Booking, Refusal, book};
use crate::rooms::Stay;

pub fn router(service: Service) -> Router {
    Router::new()
        .route("/bookings", post(book_room))
        .route("/rooms/{room}", get(stays))
        .route("/metrics", get(metrics))
        .with_state(service)
}

async fn book_room(
    State(service): State<Service>,
    Json(booking): Json<Booking>,
) -> Result<(StatusCode, Json<Value>), Response> {
    let begun = Instant::now();
    let booked = book(&service.events, &booking).await;
    observe(&service, begun, &booked).map_err(|error| internal(&error))?;
    let invoice = booked.map_err(refused)?;
    Ok((StatusCode::CREATED, Json(json!({ "invoice": invoice }))))
}

fn observe(
    service: &Service,
    begun: Instant,
    booked: &Result<u64, Refusal>,
) -> Result<(), tsdb::Error> {
    let outcome = match booked {
        Ok(_) => "booked",
        Err(Refusal::Taken) => "taken",
        Err(Refusal::Store(_)) => "failed",
    };
    let (metrics, labels) = (&service.metrics, [("outcome", outcome)]);
    metrics
        .counter("bookings_total", labels, "Requests to book a room")?
        .add(1);
    metrics
        .histogram(
            "booking_seconds",
            labels,
            "Time to the answer",
            &Histogram::SECONDS,
        )?
        .observe_duration(begun.elapsed());
    Ok(())
}

fn refused(refusal: Refusal) -> Response {
    let error = |error: &dyn ToString| Json(json!({ "error": error.to_string() }));
    match refusal {
        Refusal::Taken => (StatusCode::CONFLICT, error(&"the room is taken")).into_response(),
        Refusal::Store(invalid @ (Error::Invalid { .. } | Error::DuplicateId { .. })) => {
            (StatusCode::UNPROCESSABLE_ENTITY, error(&invalid)).into_response()
        }
        // The client repeats the request with the same id.
        Refusal::Store(Error::OutcomeUnknown { ids }) => {
            let body = json!({ "error": "the outcome is unknown: try again", "ids": ids });
            (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
        }
        Refusal::Store(failed) if is_busy(&failed) => {
            tracing::warn!(error = %failed, "a booking was not made");
            let retry = [(header::RETRY_AFTER, "1")];
            (
                StatusCode::SERVICE_UNAVAILABLE,
                retry,
                error(&"busy: try again"),
            )
                .into_response()
        }
        Refusal::Store(failed) => internal(&failed),
    }
}

fn is_busy(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::RetriesExhausted { .. })
}

fn internal(error: &dyn std::fmt::Display) -> Response {
    tracing::error!(%error, "a request failed");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

async fn stays(
    State(service): State<Service>,
    Path(room): Path<u32>,
) -> Result<Json<Vec<Stay>>, Response> {
    let stays = service.rooms.stays(room).await;
    stays.map(Json).map_err(|error| internal(&error))
}

async fn metrics(State(service): State<Service>) -> String {
    let mut exposition = Exposition::new();
    for (metric, metadata) in service.series.all_metadata() {
        exposition.describe(metric, metadata);
    }
    for (labels, value) in service.metrics.values() {
        exposition.value(labels, value);
    }
    exposition.write(Escaping::default())
}
