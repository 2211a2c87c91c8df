//! `admin/tsdb/…`: deletes samples. [`super::Options`] must allow it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use tsdb::{Db, Error};

use super::engine::Engine;
use super::parameters::{Parameters, invalid};
use super::{faults, list};
use crate::error::ApiError;

/// `POST` and `PUT /api/v1/admin/tsdb/delete_series`. Frees the memory at once.
pub(super) async fn delete_series(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<StatusCode, ApiError> {
    check_allowed(&engine)?;
    // A misspelled `start` must not delete more than was meant.
    parameters.refuse_unknown(&["match[]", "start", "end"])?;
    let selectors = list::selectors(&parameters)?;
    if selectors.is_empty() {
        return Err(invalid("match[]", "is missing"));
    }
    let from_ms = parameters.time("start")?.unwrap_or(i64::MIN);
    let to_ms = parameters.time("end")?.unwrap_or(i64::MAX);
    if from_ms > to_ms {
        return Err(invalid("end", "is before start"));
    }
    run(&engine, move |db| {
        selectors
            .iter()
            .try_for_each(|matchers| db.delete(matchers, from_ms, to_ms).map(drop))
    })
    .await
}

/// `POST` and `PUT /api/v1/admin/tsdb/clean_tombstones`. Deleted samples are no longer in memory;
/// this frees their space on disk.
pub(super) async fn clean_tombstones(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<StatusCode, ApiError> {
    check_allowed(&engine)?;
    parameters.refuse_unknown(&[])?;
    run(&engine, Db::write_snapshot).await
}

fn check_allowed(engine: &Engine) -> Result<(), ApiError> {
    engine.options.admin_refused.map_or(Ok(()), |refusal| {
        let code = "ADMIN_API_DISABLED";
        Err(ApiError::new(StatusCode::FORBIDDEN, code, refusal))
    })
}

async fn run(
    engine: &Engine,
    work: impl FnOnce(&Db) -> Result<(), Error> + Send + 'static,
) -> Result<StatusCode, ApiError> {
    let db = engine.db.clone();
    match engine.work.maintenance(move || work(&db)).await? {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(faults::of_engine(&error).unwrap_or_else(|| ApiError::internal(&error))),
    }
}
