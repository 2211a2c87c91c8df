use std::borrow::Cow;

use crate::push_json_string;

/// An HTTP status and a body of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200, 206 or 400.
    pub status: u16,
    /// The JSON.
    pub body: Cow<'static, str>,
}

impl Answer {
    pub(super) fn ok(body: String) -> Self {
        Self {
            status: 200,
            body: body.into(),
        }
    }

    /// The answer to a request that can't be served.
    pub(super) fn bad_request(error: &str) -> Self {
        let mut body = String::from(r#"{"error":"#);
        push_json_string(&mut body, error);
        body.push('}');
        Self {
            status: 400,
            body: body.into(),
        }
    }
}

/// A server's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Points written since the server started.
    pub points_written: u64,
    /// Queries answered since the server started.
    pub queries_served: u64,
    /// Seconds since the server started.
    pub uptime_seconds: f64,
}

/// The answer of a healthy server.
pub fn health() -> Answer {
    Answer {
        status: 200,
        body: Cow::Borrowed(r#"{"status":"healthy"}"#),
    }
}

/// The answer that shows a server's counters.
pub fn counters(counters: &Counters) -> Answer {
    let Counters {
        points_written,
        queries_served,
        uptime_seconds,
    } = counters;
    let mut number = itoa::Buffer::new();
    let mut body = String::with_capacity(112);
    body.push_str(r#"{"points_written":"#);
    body.push_str(number.format(*points_written));
    body.push_str(r#","queries_served":"#);
    body.push_str(number.format(*queries_served));
    body.push_str(r#","uptime_seconds":"#);
    let uptime_ms = (uptime_seconds * 1000.0).round() as u64;
    body.push_str(number.format(uptime_ms / 1000));
    // The added 1000 keeps the leading zeros of the fraction. Its first digit is cut off below.
    let fraction = number.format(1000 + uptime_ms % 1000);
    body.push('.');
    body.push_str(&fraction[1..]);
    body.push('}');
    Answer::ok(body)
}
