use std::collections::BTreeSet;

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The number of links that OpenTelemetry keeps of a span by default.
const MAX_LINKS: usize = 128;

/// The context of the current span as a `traceparent`. `None` outside of a span that the layer of
/// `tracing-opentelemetry` records.
pub fn current() -> Option<String> {
    let context = Span::current().context();
    let span = context.span();
    let context = span.span_context();
    let sampled = u8::from(context.is_sampled());
    context.is_valid().then(|| {
        let (trace, span) = (context.trace_id(), context.span_id());
        format!("00-{trace}-{span}-{sampled:02x}")
    })
}

/// A span of level info for the work on records, given the `traceparent` of each. It is
///
/// - a child of the first record's span, if all records are of one trace;
/// - else the root of a new trace, because a batch belongs to none of its traces more than to another.
///
/// It has links to the other records, at most 128. Texts that are no `traceparent` are passed over. Without
/// records of a trace it is disabled, so the work stays in the caller's span.
pub fn span<'a>(name: &'static str, traces: impl IntoIterator<Item = &'a str>) -> Span {
    let mut seen = BTreeSet::new();
    let contexts = traces
        .into_iter()
        .filter(|trace| seen.insert(*trace))
        .filter_map(parsed);
    let contexts: Vec<SpanContext> = contexts.take(MAX_LINKS).collect();
    let Some(first) = contexts.first() else {
        return Span::none();
    };
    let span = info_span!(parent: None, "handle", otel.name = name, otel.kind = "consumer");
    let is_one = |context: &SpanContext| context.trace_id() == first.trace_id();
    let is_child = contexts.iter().all(is_one);
    if is_child {
        let parent = Context::new().with_remote_span_context(first.clone());
        // It fails only for a span that no layer records, and that has no parent then.
        let _ = span.set_parent(parent);
    }
    let linked = contexts.into_iter().skip(usize::from(is_child));
    linked.for_each(|context| span.add_link(context));
    span
}

/// Reads a `traceparent`, whose fields after the first four are for later versions.
fn parsed(text: &str) -> Option<SpanContext> {
    let fields: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags, rest @ ..] = &fields[..] else {
        return None;
    };
    let is_lower_hex =
        |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_lowercase() && byte.is_ascii_hexdigit());
    let is_hex = |text: &str, digits| text.len() == digits && text.bytes().all(is_lower_hex);
    let has_form = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    if !has_form || *version == "ff" || (*version == "00" && !rest.is_empty()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_traceparent_is_read() {
        let read = |text: &str| parsed(text).map(|context| context.is_sampled());
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert_eq!(read(&format!("00-{trace}-{span}-01")), Some(true));
        assert_eq!(read(&format!("00-{trace}-{span}-02")), Some(false));
        assert_eq!(read(&format!("01-{trace}-{span}-01-later")), Some(true));
        for wrong in [
            "".to_owned(),
            "00".to_owned(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-later"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-+{}-{span}-01", &trace[1..]),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }
}
