//! The page of the stores beside their peers.

use crate::common;
use bench::Interval;
use bench::peers::{
    Figures, Form, Ground, Measured, PEERS, Participant, PeersRun, Raced, RowFigures, markdown,
    questions, readme, rows,
};
use peer_protocol::{Hello, Latencies};
use std::time::Duration;

fn interval(value: f64) -> Interval {
    Interval {
        value,
        low: value * 0.9,
        high: value * 1.1,
    }
}

fn figures(rate: f64, ratio: f64, wrong: u64) -> Figures {
    let mut latencies = Latencies::default();
    latencies.record(Duration::from_micros(250));
    Figures {
        rate: interval(rate),
        ratio: Some(interval(ratio)),
        latencies,
        conflicts: 0,
        wrong,
        worst_second: Some(700),
    }
}

fn participant(key: &str, hello: Result<&str, &str>, is_accused: bool) -> Participant {
    let raced = Raced {
        is_accused,
        text: "the referee's words".to_owned(),
    };
    Participant {
        key: key.to_owned(),
        ground: Ground::Server,
        races: hello.is_ok().then_some(raced),
        hello: hello
            .map(|name| Hello::events(name, "1.0", "a commit waits"))
            .map_err(str::to_owned),
    }
}

/// All rows of a ground; the last one failed for the second peer.
fn run() -> PeersRun {
    let plans = rows(Ground::Server, 12_200, 5);
    let last = plans.len() - 1;
    let row = |(index, plan)| RowFigures {
        ground: Ground::Server,
        plan,
        peers: vec![
            ("postgres".to_owned(), Ok(figures(1_000.0, 1.0, 0))),
            (
                "lock".to_owned(),
                if index == last {
                    Err("the server went away".to_owned())
                } else {
                    Ok(figures(2_500.0, 2.5, u64::from(index == 0)))
                },
            ),
            ("serializable".to_owned(), Ok(figures(990.0, 0.99, 0))),
            ("disintegrate".to_owned(), Ok(figures(250.0, 0.25, 0))),
        ],
    };
    let measured = Measured {
        participants: vec![
            participant("postgres", Ok("ours"), false),
            participant("lock", Ok("with a lock"), false),
            participant("serializable", Ok("serializable"), true),
            participant("disintegrate", Ok("disintegrate"), false),
            participant("umadb", Err("it was not built: error: no protoc"), false),
        ],
        rows: plans.into_iter().enumerate().map(row).collect(),
    };
    PeersRun {
        measured,
        form: Form::Quick,
        environment: common::environment(),
        started: 0,
        command: "the command".to_owned(),
        facts: Vec::new(),
    }
}

const QUESTION: &str = "| A server, one caller | 1,000; 250 µs, 250 µs \
    | with a lock × 2.50 (2.25–2.75); 250 µs, 250 µs \
    | serializable † × 0.990 (0.891–1.09); 250 µs, 250 µs \
    | disintegrate × 0.250 (0.225–0.275); 250 µs, 250 µs |";

#[test]
fn lost_row_is_printed_like_a_won_one_and_a_missing_peer_says_why() {
    let page = markdown(&run());
    for expected in [
        QUESTION,
        "| Events, on a server | with a lock | 1.0 | a commit waits | the referee's words |",
        "| Events, on a server | umadb | not measured | it was not built: error: no protoc |  |",
        "| append one event on a condition | 8 | ours | 1,000 | × 1.00 (0.900–1.10) | 250 µs | 250 µs | worst second 700/s |",
        "|  |  | with a lock | 2,500 | × 2.50 (2.25–2.75) | 250 µs | 250 µs | worst second 700/s |",
        "|  |  | with a lock | failed: the server went away |  |  |  |  |",
        "**1 wrong results**",
        "| Command | `the command` |",
    ] {
        assert!(page.contains(expected), "{expected:?} is not in\n{page}");
    }
}

#[test]
fn saved_run_gives_the_same_page_and_the_results_of_the_readme_stand_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs/peers.json");
    run().save(&file).unwrap();
    let loaded = PeersRun::load(&file).unwrap();
    let page = markdown(&loaded);
    assert_eq!(page, markdown(&run()));
    let before = "# Title\n<!-- results -->\nold\n<!-- end of results -->\nmore\n";
    let after = readme(&loaded, before).unwrap();
    assert!(after.starts_with("# Title\n<!-- results -->\n"), "{after}");
    assert!(
        after.ends_with("<!-- end of results -->\nmore\n"),
        "{after}"
    );
    assert!(!after.contains("old"), "{after}");
    let lines: Vec<&str> = after.lines().filter(|line| line.starts_with('|')).collect();
    assert!(lines.len() > 3, "{after}");
    for line in lines {
        assert!(page.lines().any(|other| other == line), "{line}");
    }
    assert_eq!(readme(&loaded, "no marks"), None);
}

#[test]
fn every_question_is_answered_by_a_row() {
    for question in questions() {
        let rows = rows(question.ground, 12_200, 5);
        let asked = (question.operation, question.callers);
        let mut answers = rows
            .iter()
            .filter(|row| !row.is_sustained && (row.operation, row.callers) == asked);
        assert!(answers.next().is_some(), "{question:?}");
        assert!(answers.next().is_none(), "{question:?} has two rows");
    }
}

#[test]
fn first_peer_of_each_ground_is_ours() {
    for (ground, ours) in Ground::ALL
        .into_iter()
        .zip(["sqlite", "postgres", "messages"])
    {
        let first = PEERS.iter().find(|peer| peer.ground == ground);
        assert_eq!(first.map(|peer| peer.key), Some(ours));
    }
}
