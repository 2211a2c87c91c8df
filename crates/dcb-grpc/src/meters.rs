//! The metrics of a server, on the `metrics` facade. README.md lists the names.

use store_meter::{Counter, Gauge, Histogram, Scope, Timer};
use tonic::Code;

/// The methods that are counted each, and the name of the others.
const METHODS: [&str; 6] = [
    "Read",
    "Subscribe",
    "Append",
    "Head",
    "GetTrackingInfo",
    "other",
];
/// The codes that the server answers, and the name of the others.
const CODES: [(Code, &str); 8] = [
    (Code::Ok, "OK"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Internal, "INTERNAL"),
    (Code::Unknown, "other"),
];

pub(crate) struct Meters {
    methods: [Calls; METHODS.len()],
    /// Open reads and subscriptions.
    pub(crate) streams: Gauge,
    events_sent: Counter,
}

struct Calls {
    codes: [Counter; CODES.len()],
    seconds: Histogram,
}

impl Meters {
    pub(crate) fn new() -> Self {
        let scope = Scope::new(cfg!(feature = "metrics"), "dcb_grpc", &[]);
        Self {
            methods: METHODS.map(|method| Calls::new(&scope.with("method", method))),
            streams: scope.gauge("streams", "Open reads and subscriptions"),
            events_sent: scope.counter("events_sent_total", "Events sent to clients"),
        }
    }

    /// A call of the method at this path has begun its response with this code.
    pub(crate) fn answered(&self, path: &str, code: Code, begun: Timer) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let other = METHODS.len() - 1;
        let method = METHODS.iter().position(|method| *method == name);
        let calls = &self.methods[method.unwrap_or(other)];
        let known = CODES.iter().position(|(known, _)| *known == code);
        calls.codes[known.unwrap_or(CODES.len() - 1)].add(1);
        calls.seconds.record_since(begun);
    }

    pub(crate) fn sent(&self, events: usize) {
        self.events_sent.add(events as u64);
    }
}

impl Calls {
    fn new(scope: &Scope) -> Self {
        let counter = |(_, code)| {
            let scope = scope.with("code", code);
            scope.counter("calls_total", "Calls, by the code of the response")
        };
        Self {
            codes: CODES.map(counter),
            seconds: scope.seconds("call_seconds", "Time until the response begins"),
        }
    }
}
