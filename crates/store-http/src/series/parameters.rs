use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, Request};
use axum::http::{Uri, header};
use bytes::Bytes;
use tsdb::promql::{parse_duration, parse_time};

use crate::error::ApiError;

/// Maximum number of characters of a name or value that an error or a warning quotes.
const MAX_SHOWN: usize = 64;
/// Maximum number of unknown parameters that are named.
const MAX_WARNINGS: usize = 10;

/// The parameters of a request in Prometheus' form. A form in the body comes before the URL, so its
/// values win.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    all: Vec<(String, String)>,
}

impl Parameters {
    /// The parameters of the URL.
    pub(super) fn of_query(uri: &Uri) -> Self {
        let mut parameters = Self::default();
        parameters.add(uri.query().unwrap_or_default().as_bytes());
        parameters
    }

    fn add(&mut self, form: &[u8]) {
        self.all.extend(form_urlencoded::parse(form).into_owned());
    }

    /// The first parameter with this name. An empty value counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// All parameters with this name.
    pub(super) fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        let all = self.all.iter();
        all.filter(move |(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// A warning for each parameter that is not in `known`. Such a parameter has no effect, and a
    /// client that misspelled it must learn that. `token` belongs to every path.
    ///
    /// A path whose answer has no place for warnings calls [`refuse_unknown`](Self::refuse_unknown).
    pub(super) fn warnings(&self, known: &[&str]) -> Vec<String> {
        self.unknown(known)
            .into_iter()
            .map(|name| format!("unknown parameter {name:?} was ignored"))
            .collect()
    }

    /// Refuses parameters that are not in `known`.
    pub(super) fn refuse_unknown(&self, known: &[&str]) -> Result<(), ApiError> {
        match self.unknown(known).pop_first() {
            None => Ok(()),
            Some(name) => Err(invalid(&name, "is unknown on this path")),
        }
    }

    /// The names of unknown parameters, shortened, because they go to logs and pages.
    fn unknown(&self, known: &[&str]) -> BTreeSet<String> {
        let names = self.all.iter().map(|(name, _)| name.as_str());
        let unknown = names.filter(|name| *name != "token" && !known.contains(name));
        let shown = unknown.map(|name| name.chars().take(MAX_SHOWN).collect());
        shown.take(MAX_WARNINGS).collect()
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| invalid(name, "is missing"))
    }

    /// A time in ms.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(
            name,
            parse_time,
            "is neither Unix seconds nor an RFC 3339 time",
        )
    }

    /// A duration in ms.
    pub(super) fn duration(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(
            name,
            parse_duration,
            "is neither seconds nor a duration such as 1h30m",
        )
    }

    /// A limit. 0 means no limit, as in Prometheus.
    pub(super) fn limit(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let limit = self.parsed(name, |text| text.parse().ok(), "is not a whole number")?;
        Ok(limit.filter(|limit| *limit > 0))
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        otherwise: &str,
    ) -> Result<Option<T>, ApiError> {
        let parsed = self.get(name).map(|text| {
            // Errors go to logs and pages, so they quote only the start of a long value.
            let shown: String = text.chars().take(MAX_SHOWN).collect();
            parse(text).ok_or_else(|| invalid(name, &format!("{shown:?} {otherwise}")))
        });
        parsed.transpose()
    }
}

/// The error for a parameter, in Prometheus' words.
pub(super) fn invalid(name: &str, reason: &str) -> ApiError {
    ApiError::invalid(format!("invalid parameter {name:?}: {reason}"))
}

impl<S: Send + Sync> FromRequest<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        const FORM: &[u8] = b"application/x-www-form-urlencoded";
        let query = Self::of_query(request.uri());
        let kind = request.headers().get(header::CONTENT_TYPE);
        let is_form = kind.is_some_and(|kind| kind.as_bytes().starts_with(FORM));
        // Grafana posts forms, Prometheus clients mostly send URLs.
        if !is_form || request.body().is_end_stream() {
            return Ok(query);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| ApiError::invalid("can't read the body"))?;
        let mut parameters = Self::default();
        parameters.add(&body);
        parameters.all.extend(query.all);
        Ok(parameters)
    }
}

/// The system's time in ms since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
