//! Damaged and random input: no parser panics, and JSON is accepted if and only if serde_json
//! accepts it.

use conformance_suite::effort;
use proptest::prelude::*;
use tsdb::Exemplars;
use tsdb::promql::{Query, QueryOptions, format_query, parse_selectors};
use tsdb::wire::line_protocol::Precision;
use tsdb::wire::remote_write::Version;
use tsdb::wire::{exposition, json, line_protocol, remote_write};

use crate::support::wire::db;

/// Valid input with up to three bytes replaced or inserted, or cut short.
fn damaged(good: &'static [u8], alphabet: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let change = (
        any::<prop::sample::Index>(),
        0..3_u8,
        prop::sample::select(alphabet),
    );
    prop::collection::vec(change, 0..4).prop_map(move |changes| {
        let mut bytes = good.to_vec();
        for (index, kind, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let index = index.index(bytes.len());
            match kind {
                0 => bytes[index] = byte,
                1 => bytes.truncate(index),
                _ => bytes.insert(index, byte),
            }
        }
        bytes
    })
}

const JSON: &[u8] = br#"[{"metric":"cpu","timestamp":17,"value":-4.5e2,"tags":{"a":"b\n"}}, {"x":[true,null,{"y":0}]}]"#;
const LINES: &[u8] = b"cpu,host=a\\ b usage=1.5,s=\"x \\\" y\",n=3i 17\n# c\nmem v=t\n";
const TEXT: &[u8] = b"# HELP a b\n# TYPE a counter\na{x=\"y\\n\",\"q\"=\"r\"} 1.5 17\nb +Inf\n";
const QUERY: &[u8] = b"sum by (a) (rate(m{x=~\"y.*\"}[5m] offset 1m)) / on(a) group_left(b) {__name__=\"n\"} @ 5 > bool 1";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(effort(2_000) as u32))]

    #[test]
    fn damaged_json_is_judged_like_serde_json(bytes in damaged(JSON, b"[]{}\",:0123456789.-+eE \\tfnab\x01\x7f\xff")) {
        let answer = json::write(&db(), &bytes);
        let malformed = answer.body.starts_with(r#"{"error":"malformed JSON"#);
        prop_assert!([200, 206, 400].contains(&answer.status));
        match serde_json::from_slice::<serde_json::Value>(&bytes) {
            Ok(_) => prop_assert!(!malformed, "{}", answer.body),
            Err(error) if error.to_string().contains("out of range") => {}
            Err(_) => prop_assert_eq!(answer.status, 400),
        }
        let answer = json::query(&db(), &bytes);
        prop_assert_eq!(answer.status, 400);
    }

    #[test]
    fn damaged_line_protocol_does_not_panic(bytes in damaged(LINES, b", =\\\"\n#1ti.e-\xff")) {
        let _ = line_protocol::write(&db(), &bytes, Precision::Seconds, 0);
    }

    #[test]
    fn damaged_exposition_does_not_panic(bytes in damaged(TEXT, b"{}\",=\\# \n1a\xff")) {
        let _ = exposition::write(&db(), &bytes, 0);
    }

    #[test]
    fn damaged_query_does_not_panic(bytes in damaged(QUERY, b"(){}[]\"',=~@+-*/ 1m:abon\\")) {
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Ok(query) = Query::parse(text)
        {
            let _ = format_query(text);
            let _ = parse_selectors(text);
            let _ = query.instant(&db(), 0, &QueryOptions::default());
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = json::write(&db(), &bytes);
        let _ = line_protocol::write(&db(), &bytes, Precision::Nanoseconds, 0);
        let _ = exposition::write(&db(), &bytes, 0);
        let _ = remote_write::write(&db(), &bytes);
        let message = snap::raw::Encoder::new().compress_vec(&bytes).expect("compressed");
        let _ = remote_write::write(&db(), &message);
        for version in [Version::V1, Version::V2] {
            let _ = remote_write::receive(&db(), &Exemplars::new(1000), version, &message);
        }
    }
}
