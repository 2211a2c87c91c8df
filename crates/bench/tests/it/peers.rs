//! The page of the stores beside their peers.

use crate::common;
use bench::Interval;
use bench::peers::{
    Figures, Form, Ground, Growth, Log, Measured, PEERS, Participant, PeersRun, Raced, RowFigures,
    RowPlan, Times, growth_page, markdown, questions, readme, rows, seconds,
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

/// Two logs. The only row of the larger one failed.
fn growth() -> Growth {
    let plan = rows(Ground::Server, 12_200, 5).swap_remove(0);
    let log = |events, load: Result<f64, &str>| Log {
        events,
        load: load.map_err(str::to_owned),
        peak_bytes: load.ok().map(|_| 64 << 20),
    };
    Growth {
        store: "ours".to_owned(),
        logs: vec![
            log(61_000, Ok(2.0)),
            log(1_000_000, Err("the disk is full")),
        ],
        rows: vec![RowFigures {
            ground: Ground::Server,
            plan,
            seconds: 5.0,
            peers: vec![
                ("61000".to_owned(), Ok(figures(900.0, 1.0, 0))),
                ("1000000".to_owned(), Err("the disk is full".to_owned())),
            ],
            left_out: Vec::new(),
        }],
    }
}

/// All rows of a ground; the last one failed for the second peer.
fn run() -> PeersRun {
    let plans = rows(Ground::Server, 12_200, 5);
    let last = plans.len() - 1;
    let row = |(index, plan)| RowFigures {
        ground: Ground::Server,
        plan,
        seconds: 12.0,
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
        left_out: Vec::new(),
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
        growth: vec![growth()],
        times: Times {
            build: 600.0,
            load: 60.0,
            rows: 600.0,
            races: 30.0,
            growth: 90.0,
        },
    };
    PeersRun {
        measured,
        profile: Form::Quick.text(),
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
        "| Time of the run | 13.0 min (rows 10.0 min, loads 1.0 min, races 0.5 min, growth 1.5 min), after 10.0 min of building |",
        "Not measured",
    ] {
        assert!(page.contains(expected), "{expected:?} is not in\n{page}");
    }
    let page = growth_page(&run());
    for expected in [
        "| ours | read the 5 events of an entity | 1 | 61,000 | 900 | × 1.00 (0.900–1.10) | 250 µs | 250 µs |",
        "|  |  |  | 1,000,000 | failed: the disk is full |  |  |  |",
        "| ours | 61,000 | 30,500/s | 64.0 MB |",
        "| ours | 1,000,000 | failed: the disk is full | not known |",
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

/// The row with little memory, of embedded stores. All say the same of others than `measured`.
fn with_little_memory(measured: &[&str], reason: &str) -> PeersRun {
    let is_asked = |plan: &RowPlan| plan.memory_bytes.is_some();
    let plan = rows(Ground::Embedded, 12_200, 5).into_iter().find(is_asked);
    let (mut run, keys) = (run(), ["sqlite", "tephra"]);
    run.measured.participants = keys
        .map(|key| Participant {
            ground: Ground::Embedded,
            ..participant(key, Ok(key), false)
        })
        .into();
    let figures = figures(4_000.0, 1.0, 0);
    let (known, left_out) = keys
        .into_iter()
        .partition::<Vec<_>, _>(|key| measured.contains(key));
    run.measured.rows = vec![RowFigures {
        ground: Ground::Embedded,
        plan: plan.unwrap(),
        seconds: 90.0,
        peers: known
            .iter()
            .map(|key| (key.to_string(), Ok(figures.clone())))
            .collect(),
        left_out: left_out
            .iter()
            .map(|key| (key.to_string(), reason.to_owned()))
            .collect(),
    }];
    run
}

#[test]
fn store_that_is_killed_for_memory_is_a_line_and_no_failure_of_the_run() {
    let killed = "killed for memory at 256 MB";
    for (run, expected) in [
        (
            with_little_memory(&["sqlite"], killed),
            "| Embedded, read an entity of a log that does not fit into memory | 4,000; 250 µs, 250 µs | none \
                | tephra not measured: killed for memory at 256 MB | none |",
        ),
        (
            with_little_memory(&["tephra"], killed),
            "| read the 34 events of an entity, with 256 MB of memory | 16 | sqlite \
                | not measured: killed for memory at 256 MB |  |  |  |  |",
        ),
    ] {
        let page = markdown(&run);
        assert!(page.contains(expected), "{expected:?} is not in\n{page}");
        assert!(run.measured.failures_of_ours().is_empty());
    }
}

#[test]
fn run_that_may_not_limit_memory_says_so_in_the_row_and_answers_no_question() {
    let run = with_little_memory(&[], "the run may not limit memory");
    let page = markdown(&run);
    let expected = "| read the 34 events of an entity, with 256 MB of memory | 16 | sqlite \
        | not measured: the run may not limit memory |  |  |  |  |";
    assert!(page.contains(expected), "{expected:?} is not in\n{page}");
    assert!(
        !page.contains("a log that does not fit into memory"),
        "{page}"
    );
    assert!(run.measured.failures_of_ours().is_empty());
}

#[test]
fn only_failures_of_our_stores_fail_the_run() {
    let mut run = run();
    assert!(run.measured.failures_of_ours().is_empty());
    run.measured.participants[0].hello = Err("it was not built".to_owned());
    run.measured.rows[1].peers[0].1 = Err("it stopped".to_owned());
    assert_eq!(
        run.measured.failures_of_ours(),
        [
            "postgres: it was not built",
            "postgres: read the 34 events of an entity: it stopped"
        ]
    );
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
        .zip(["sqlite", "postgres", "messages", "series"])
    {
        let first = PEERS.iter().find(|peer| peer.ground == ground);
        assert_eq!(first.map(|peer| peer.key), Some(ours));
    }
}

#[test]
fn quick_run_of_all_stores_is_planned_for_less_than_20_minutes() {
    let planned = seconds(&PEERS, Form::Quick);
    assert!(planned < 20.0 * 60.0, "{planned} s");
    // Each store adds to it.
    assert!(seconds(&PEERS[1..], Form::Quick) < planned);
}
