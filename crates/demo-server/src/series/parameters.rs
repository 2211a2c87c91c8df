use axum::body::HttpBody as _;
use axum::extract::{FromRequest, Request};
use axum::http::{Uri, header};
use bytes::Bytes;
use tsdb::promql::{parse_duration, parse_time};

use crate::error::ApiError;

/// The parameters of a request as Prometheus takes them: those of the URL, and before them those of
/// a form in the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    all: Vec<(String, String)>,
}

impl Parameters {
    /// Those of the URL.
    pub(super) fn of_query(uri: &Uri) -> Self {
        let mut parameters = Self::default();
        parameters.add(uri.query().unwrap_or_default().as_bytes());
        parameters
    }

    fn add(&mut self, form: &[u8]) {
        self.all.extend(form_urlencoded::parse(form).into_owned());
    }

    /// The first parameter of a name; an empty one is none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// All parameters of a name.
    pub(super) fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        let all = self.all.iter();
        all.filter(move |(own, value)| own == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| invalid(name, "is missing"))
    }

    /// A time in ms.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(name, parse_time, "is neither Unix seconds nor RFC 3339")
    }

    /// A duration in ms.
    pub(super) fn duration(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(
            name,
            parse_duration,
            "is neither seconds nor a duration as 1h30m",
        )
    }

    /// A number of things, where it is set and not zero.
    pub(super) fn limit(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let limit = self.parsed(name, |text| text.parse().ok(), "is no number of 0 or more")?;
        Ok(limit.filter(|limit| *limit > 0))
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        otherwise: &str,
    ) -> Result<Option<T>, ApiError> {
        let parsed = self.get(name).map(|text| {
            let shown: String = text.chars().take(64).collect();
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
        if !is_form || request.body().is_end_stream() {
            return Ok(query);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| ApiError::invalid("the body can't be read"))?;
        let mut parameters = Self::default();
        parameters.add(&body);
        parameters.all.extend(query.all);
        Ok(parameters)
    }
}
