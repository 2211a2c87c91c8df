//! `status/…`: facts about the server that clients of Prometheus read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};
use tsdb::{Cardinality, Db, Extent};

use super::answer;
use super::engine::Engine;
use super::parameters::{Parameters, invalid};
use super::promql::{MAX_SAMPLES, TIMEOUT};
use super::turn::Turn;
use crate::error::ApiError;

/// The Prometheus release that this interface follows. It tells clients which requests they can
/// send.
const PROMETHEUS: &str = "3.0.0";
/// Length of each list of `status/tsdb` without `limit`.
const LISTED: usize = 10;
/// Maximum length, as in Prometheus.
const MAX_LISTED: usize = 10_000;

/// `GET /api/v1/status/buildinfo`
pub(super) async fn buildinfo(parameters: Parameters) -> Result<Response, ApiError> {
    let info = json!({
        "version": PROMETHEUS,
        "revision": format!("registrar-{}", env!("CARGO_PKG_VERSION")),
        // Grafana expects all members, even those without a value.
        "branch": "",
        "buildUser": "",
        "buildDate": "",
        "goVersion": ""
    });
    answer::short(&info, &parameters.warnings(&[]))
}

/// `GET /api/v1/status/runtimeinfo`. Members that only a Go program has are empty.
pub(super) async fn runtimeinfo(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let now = SystemTime::now();
    let started = timestamp(now.checked_sub(engine.started.elapsed()).unwrap_or(now));
    let info = json!({
        "startTime": started,
        "serverTime": timestamp(now),
        // Empty, because clients must not learn a path of the server.
        "CWD": "",
        "hostname": "",
        "reloadConfigSuccess": true,
        "lastConfigTime": started,
        "corruptionCount": 0,
        "goroutineCount": 0,
        "GOMAXPROCS": std::thread::available_parallelism().map_or(1, usize::from),
        "GOMEMLIMIT": 0,
        "GOGC": "",
        "GODEBUG": "",
        "storageRetention": retention_size(&engine),
    });
    answer::short(&info, &parameters.warnings(&[]))
}

/// A time as RFC 3339. Empty for a time that the format can't express.
fn timestamp(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |time| time.to_string())
}

/// `GET /api/v1/status/flags`: the settings that have a name in Prometheus.
pub(super) async fn flags(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let flags: BTreeMap<&str, String> = BTreeMap::from([
        ("query.lookback-delta", "5m".to_owned()),
        ("query.max-samples", MAX_SAMPLES.to_string()),
        ("query.timeout", format!("{}s", TIMEOUT.as_secs())),
        ("storage.tsdb.retention.size", retention_size(&engine)),
        ("storage.tsdb.retention.time", retention_time(&engine)),
        (
            "web.enable-admin-api",
            engine.options.admin_refused.is_none().to_string(),
        ),
        ("web.enable-lifecycle", false.to_string()),
        ("web.enable-remote-write-receiver", true.to_string()),
    ]);
    answer::short(&flags, &parameters.warnings(&[]))
}

fn retention_size(engine: &Engine) -> String {
    let bytes = engine.db.options().retention.bytes;
    format!("{}B", bytes.unwrap_or_default())
}

fn retention_time(engine: &Engine) -> String {
    let age_ms = engine.db.options().retention.age_ms;
    age_ms.map_or("0s".to_owned(), |age_ms| format!("{age_ms}ms"))
}

/// `GET /api/v1/status/config`: there is no configuration file.
pub(super) async fn config(parameters: Parameters) -> Result<Response, ApiError> {
    let config = json!({ "yaml": "global: {}\n" });
    answer::short(&config, &parameters.warnings(&[]))
}

/// `GET /api/v1/status/tsdb`: the metrics and labels with the most series.
pub(super) async fn tsdb(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let limit = parameters.limit("limit")?.unwrap_or(LISTED);
    if limit > MAX_LISTED {
        return Err(invalid("limit", &format!("is more than {MAX_LISTED}")));
    }
    let db = engine.db.clone();
    let work = move |turn: &Arc<Turn>| {
        turn.has_read(db.series_count())?;
        Ok(content(&db.cardinality(limit), db.extent(), &db))
    };
    let (content, _permit) = engine.work.query(work).await?;
    answer::short(&content, &parameters.warnings(&["limit"]))
}

fn content(cardinality: &Cardinality, extent: Extent, db: &Db) -> Value {
    let (oldest_ms, newest_ms) = extent.range_ms.unwrap_or_default();
    json!({
        "headStats": {
            "numSeries": db.series_count(),
            "numLabelPairs": cardinality.label_pairs,
            "chunkCount": extent.parts,
            "minTime": oldest_ms,
            "maxTime": newest_ms,
        },
        "seriesCountByMetricName": entries(&cardinality.series_by_metric),
        "labelValueCountByLabelName": entries(&cardinality.values_by_label),
        "memoryInBytesByLabelName": entries(&cardinality.bytes_by_label),
        "seriesCountByLabelValuePair": entries(&cardinality.series_by_pair),
    })
}

fn entries(top: &[(String, u64)]) -> Vec<Value> {
    top.iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect()
}
