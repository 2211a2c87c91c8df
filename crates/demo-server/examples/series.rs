//! The time-series engine embedded in a small web service: rooms and their temperatures.
//!
//! ```sh
//! cargo run -p demo-server --example series
//! curl -X POST 'localhost:3000/rooms/kitchen?celsius=21.5'
//! curl localhost:3000/rooms/kitchen
//! ```

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};

const METRIC: &str = "temperature_celsius";

#[derive(Deserialize)]
struct Measurement {
    celsius: f64,
}

#[derive(Serialize)]
struct Average {
    room: String,
    celsius: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // In memory; `Db::open` stores the series in files.
    let db = Db::new(DbOptions::default());
    let router = Router::new()
        .route("/rooms/{room}", get(average).post(measure))
        .with_state(db);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

/// Writes a measurement with the current time.
async fn measure(
    State(db): State<Db>,
    Path(room): Path<String>,
    Query(measurement): Query<Measurement>,
) -> Result<StatusCode, (StatusCode, String)> {
    let refused = |error: tsdb::Error| (StatusCode::BAD_REQUEST, error.to_string());
    let labels = Labels::new(METRIC, [("room", room)]).map_err(|error| refused(error.into()))?;
    let sample = Sample::new(now_ms(), measurement.celsius);
    db.append(&labels, sample).map_err(refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The average of the last hour.
async fn average(
    State(db): State<Db>,
    Path(room): Path<String>,
) -> Result<Json<Average>, StatusCode> {
    let matchers = [Matcher::metric(METRIC), Matcher::equal("room", &room)];
    let now_ms = now_ms();
    let found = db.select(&matchers, now_ms - 3_600_000, now_ms);
    let celsius = found
        .iter()
        .find_map(|series| series.aggregate(Aggregate::Avg))
        .ok_or(StatusCode::NOT_FOUND)?;
    Ok(Json(Average { room, celsius }))
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
