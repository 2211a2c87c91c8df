use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::settings::Settings;

/// The receiver of the samples.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Without the name and the password.
    pub(super) url: Uri,
    /// The headers of each request.
    pub(super) headers: HeaderMap,
}

impl Target {
    fn parse(url: &str, headers: &[String]) -> Result<Self, String> {
        let (url, credentials) = split_credentials(url);
        let url: Uri = url
            .parse()
            .map_err(|failed| format!("--forward-to is not a URL: {failed}"))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err("--forward-to must begin with http:// or https://".to_owned());
        }
        let mut map = HeaderMap::new();
        for (name, value) in [
            (CONTENT_ENCODING, "snappy"),
            (CONTENT_TYPE, "application/x-protobuf"),
            (USER_AGENT, concat!("registrar/", env!("CARGO_PKG_VERSION"))),
            (
                HeaderName::from_static("x-prometheus-remote-write-version"),
                "0.1.0",
            ),
        ] {
            map.insert(name, HeaderValue::from_static(value));
        }
        if let Some(credentials) = credentials {
            let value = format!("Basic {}", BASE64_STANDARD.encode(decoded(&credentials)));
            map.insert(
                AUTHORIZATION,
                secret(&value).ok_or("--forward-to: invalid password")?,
            );
        }
        for header in headers.iter().filter(|header| !header.trim().is_empty()) {
            let (name, value) = split_header(header)
                // The text is left out: it may hold a token.
                .ok_or("a header of --forward-header must be like \"Name: value\"")?;
            map.insert(name, value);
        }
        Ok(Self { url, headers: map })
    }

    /// The receiver as the log shows it: a query may hold a token.
    pub(super) fn shown(&self) -> String {
        let authority = self
            .url
            .authority()
            .map_or("", |authority| authority.as_str());
        let scheme = self.url.scheme_str().unwrap_or_default();
        format!("{scheme}://{authority}{}", self.url.path())
    }
}

/// Checks the settings of forwarding.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    match &settings.forward_to {
        Some(url) => Target::parse(url, &settings.forward_header).map(drop),
        None if settings.forward_header.is_empty() => Ok(()),
        None => Err("--forward-header needs --forward-to".to_owned()),
    }
}

/// The receiver that the settings name. [`check`] has accepted them.
pub(crate) fn target(settings: &Settings) -> Option<Target> {
    let url = settings.forward_to.as_deref()?;
    Target::parse(url, &settings.forward_header).ok()
}

/// Takes `name:password@` out of a URL.
fn split_credentials(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (url.to_owned(), None);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((credentials, host)) => {
            let url = format!("{scheme}://{host}{path}");
            (url, Some(credentials.to_owned()))
        }
        None => (url.to_owned(), None),
    }
}

/// Decodes the percent signs of a name and a password.
fn decoded(credentials: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = credentials.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let byte = digits.and_then(|digits| hex::decode(digits).ok());
        match byte {
            Some(byte) => {
                bytes.extend(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

fn split_header(header: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = header.split_once(':')?;
    Some((name.trim().parse().ok()?, secret(value.trim())?))
}

/// A value that debug output hides.
fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_the_url_become_a_header_and_are_not_shown() {
        let target = Target::parse("https://ann:p%40ss@metrics:9/write?t=1", &[]);
        let target = target.expect("the URL is valid");
        assert_eq!(target.url, "https://metrics:9/write?t=1");
        assert_eq!(target.shown(), "https://metrics:9/write");
        assert_eq!(target.headers[AUTHORIZATION], "Basic YW5uOnBAc3M=");
        assert!(!format!("{target:?}").contains("YW5u"));
    }

    #[test]
    fn headers_are_read_and_wrong_ones_refused_without_their_text() {
        let headers = [
            "Authorization: Bearer a:b".to_owned(),
            "X-Scope-OrgID:7".to_owned(),
        ];
        let target = Target::parse("http://m/write", &headers).expect("valid");
        assert_eq!(target.headers[AUTHORIZATION], "Bearer a:b");
        assert_eq!(target.headers["x-scope-orgid"], "7");
        for (url, header) in [
            ("http://m/write", "secret"),
            ("http://m/write", "na me: secret"),
            ("m:9/write", ""),
            ("ftp://m/write", ""),
            ("http://m a/write", ""),
        ] {
            let refused = Target::parse(url, &[header.to_owned()]).expect_err(url);
            assert!(refused.contains("--forward-"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
