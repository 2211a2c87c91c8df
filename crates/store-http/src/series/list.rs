//! Lists series, label names and label values.
//!
//! `match[]` selects series. With `start` or `end`, only series with a sample in the range count;
//! without them, all series do.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use serde::ser::Serializer;
use tsdb::promql::{QueryError, parse_selector};
use tsdb::wire::exposition::unescaped;
use tsdb::{Db, Labels, Matcher};

use super::engine::Engine;
use super::parameters::{Parameters, invalid};
use super::turn::{Stopped, Turn};
use super::{answer, promql};
use crate::error::ApiError;

/// Maximum number of listed items, even with a larger `limit`.
const MAX_LISTED: usize = 100_000;

/// `GET` and `POST /api/v1/series`
pub(super) async fn series(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    if parameters.get("match[]").is_none() {
        return Err(invalid("match[]", "is missing"));
    }
    list(&engine, &parameters, |listing, db, turn| {
        let mut found = BTreeSet::new();
        for matchers in &listing.selectors {
            found.extend(listing.series(db, matchers, turn)?.into_iter().map(Metric));
        }
        Ok(found)
    })
    .await
}

/// `GET` and `POST /api/v1/labels`
pub(super) async fn labels(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    list(&engine, &parameters, |listing, db, turn| {
        listing.collect(db, turn, Db::label_names, |labels, names| {
            for label in labels {
                // Most names repeat, and a look-up needs no allocation.
                if !names.contains(label.name) {
                    names.insert(label.name.to_owned());
                }
            }
        })
    })
    .await
}

/// `GET /api/v1/label/{name}/values`. Grafana escapes a name such as `user.id`.
pub(super) async fn values(
    State(engine): State<Arc<Engine>>,
    Path(name): Path<String>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let name = unescaped(&name).into_owned();
    list(&engine, &parameters, move |listing, db, turn| {
        let all = |db: &Db, matchers: &[Matcher]| db.label_values(&name, matchers);
        listing.collect(db, turn, all, |labels, values| {
            if let Some(value) = labels.get(&name)
                && !values.contains(value)
            {
                values.insert(value.to_owned());
            }
        })
    })
    .await
}

/// The series that a request selects by `match[]`.
pub(super) fn selectors(parameters: &Parameters) -> Result<Vec<Vec<Matcher>>, ApiError> {
    let selectors = parameters.get_all("match[]").map(parse_selector);
    selectors
        .collect::<Result<_, QueryError>>()
        .map_err(|error| promql::refused(&error))
}

/// The parsed parameters of a list.
struct Listing {
    /// If empty, all series are selected.
    selectors: Vec<Vec<Matcher>>,
    /// The first and last ms, if the request has a range.
    range: Option<(i64, i64)>,
}

impl Listing {
    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        let selectors = selectors(parameters)?;
        let (start, end) = (parameters.time("start")?, parameters.time("end")?);
        let range = (start.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX));
        if range.0 > range.1 {
            return Err(invalid("end", "is before start"));
        }
        Ok(Self {
            selectors,
            range: (start.is_some() || end.is_some()).then_some(range),
        })
    }

    /// The series that match all of `matchers` and have a sample in the range.
    fn series(&self, db: &Db, matchers: &[Matcher], turn: &Turn) -> Result<Vec<Labels>, Stopped> {
        let Some((from_ms, to_ms)) = self.range else {
            let all = db.list_series(matchers);
            turn.has_read(all.len())?;
            return Ok(all);
        };
        let mut found = Vec::new();
        for series in db.select(matchers, from_ms, to_ms).iter() {
            turn.has_read(1)?;
            if series.cursor().next_block().is_some() {
                found.push(series.labels().clone());
            }
        }
        Ok(found)
    }

    /// Collects strings of the selected series. Without a range, `all` reads them from the index.
    /// With a range, `add` takes them from each series.
    fn collect(
        &self,
        db: &Db,
        turn: &Turn,
        all: impl Fn(&Db, &[Matcher]) -> Vec<String>,
        add: impl Fn(&Labels, &mut BTreeSet<String>),
    ) -> Result<BTreeSet<String>, Stopped> {
        let everything = [Vec::new()];
        let selectors = match self.selectors.as_slice() {
            [] => &everything,
            selectors => selectors,
        };
        let mut found = BTreeSet::new();
        for matchers in selectors {
            // Without a range, the index alone has the answer.
            if self.range.is_none() {
                let all = all(db, matchers);
                turn.has_read(all.len())?;
                found.extend(all);
                continue;
            }
            for labels in self.series(db, matchers, turn)? {
                turn.has_read(1)?;
                add(&labels, &mut found);
            }
        }
        Ok(found)
    }
}

/// Answers with the list that `collect` makes.
async fn list<T: Serialize + Ord>(
    engine: &Engine,
    parameters: &Parameters,
    collect: impl Fn(&Listing, &Db, &Turn) -> Result<BTreeSet<T>, Stopped> + Send + Sync + 'static,
) -> Result<Response, ApiError> {
    let limit = parameters.limit("limit")?.unwrap_or(MAX_LISTED);
    let warnings = parameters.warnings(&["match[]", "start", "end", "limit"]);
    let listing = Listing::read(parameters)?;
    let db = engine.db.clone();
    let work = move |turn: &Arc<Turn>| {
        let found = collect(&listing, &db, turn)?;
        Ok(body(&found, limit.min(MAX_LISTED), warnings.clone()))
    };
    let (body, permit) = engine.work.query(work).await?;
    answer::large_json(&engine.work, body?, permit).await
}

fn body<T: Serialize>(
    found: &BTreeSet<T>,
    limit: usize,
    mut warnings: Vec<String>,
) -> Result<String, ApiError> {
    if found.len() > limit {
        warnings.push(answer::TRUNCATED.to_owned());
    }
    let data: Vec<&T> = found.iter().take(limit).collect();
    answer::success(&data, &warnings)
}

/// The labels of a series as a JSON object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Metric(Labels);

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|label| (label.name, label.value)))
    }
}
