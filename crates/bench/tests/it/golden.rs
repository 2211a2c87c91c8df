//! The page of the event store, its raw samples and a chart, from an invented run with round figures.
//! `UPDATE_GOLDEN=1` rewrites the files; read the difference before you commit it.

use bench::pages::{LOCAL_POSTGRESQL as PAGE, LOCAL_POSTGRESQL_WRITES as WRITES};
use bench::report::{Page, Rendered, render};
use bench::{
    Bound, Declared, Figures, FloorFigures, Goal, Interval, Invocation, Measured, Profile, Reading,
    RowResult, RunId, SampleFigures, TargetRun, VERSION,
};
use std::path::Path;

const RUN: RunId = RunId {
    started: 1_795_222_140,
    process: 10,
};

#[test]
fn page_matches_golden_file() {
    compare("local-postgresql.md", &rendered(&PAGE).markdown);
    compare("local-postgresql-writes.md", &rendered(&WRITES).markdown);
}

#[test]
fn raw_samples_match_golden_file() {
    compare("local-postgresql.txt", &rendered(&PAGE).raw);
}

#[test]
fn chart_matches_golden_file() {
    let charts = rendered(&WRITES).charts;
    let name = "local-postgresql-writes-append-latency-dataset.svg";
    let chart = charts
        .iter()
        .find(|chart| chart.0 == name)
        .expect("the page has the chart");
    compare(name, &chart.1);
}

fn rendered(page: &Page) -> Rendered {
    render(page, &run()).expect("a complete run renders")
}

fn compare(name: &str, rendered: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, rendered).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap();
    assert!(
        golden == rendered,
        "{name} differs; UPDATE_GOLDEN=1 rewrites it"
    );
}

fn run() -> Vec<TargetRun> {
    let rows = |target: &str| match target {
        "append" => append_rows(),
        "append_if" => append_if_rows(),
        "query" => vec![row(
            "Query",
            1,
            100,
            Reading::AsInTheSeed,
            &["query", "read_ms"],
        )],
        "project" => vec![row("Project", 1, 100, Reading::AsInTheSeed, &["project"])],
        "projection_limits" => vec![limited()],
        _ => Vec::new(),
    };
    PAGE.targets
        .iter()
        .map(|target| saved(target, rows(target)))
        .collect()
}

fn append_rows() -> Vec<RowResult> {
    let both = ["append", "append_ms", "comparison"];
    let mut docker = row("Append", 1, 1, Reading::AsInTheSeed, &["comparison"]);
    docker.declared.server = Some("Docker".to_owned());
    docker.id = docker.declared.id();
    docker.measured = Measured::Not {
        reason: "no container engine".to_owned(),
    };
    vec![
        row("Append", 1, 1, Reading::AsInTheSeed, &both),
        row("Append", 100, 1, Reading::AsInTheSeed, &both[..2]),
        row("Append", 1, 1, Reading::OnTheDataset, &both),
        row("Append", 100, 1, Reading::OnTheDataset, &both[..2]),
        row("Append", 1, 1_000, Reading::OnTheDataset, &both[1..2]),
        docker,
    ]
}

fn append_if_rows() -> Vec<RowResult> {
    let conflict = |variant: &str, reading| {
        let mut row = row("AppendIf", 1, 1, reading, &["append_if_conflict_ms"]);
        row.declared.variant = Some(variant.to_owned());
        row.declared.conflict_events = 1;
        row.id = row.declared.id();
        row
    };
    let mut truly = conflict("true conflict", Reading::AsInTheSeed);
    if let Measured::Figures(figures) = &mut truly.measured {
        (figures.success_rate, figures.refused_rate) = (0.0, 1.0);
    }
    vec![conflict("no conflict occurs", Reading::AsInTheSeed), truly]
}

fn limited() -> RowResult {
    let fills = ["projection_limits_ms"];
    let mut row = row("ProjectionLimits", 8, 100, Reading::OnTheDataset, &fills);
    if let Measured::Figures(figures) = &mut row.measured {
        (figures.success_rate, figures.refused_rate) = (0.625, 0.375);
    }
    row
}

fn row(
    operation: &str,
    concurrency: usize,
    events: u64,
    reading: Reading,
    fills: &[&str],
) -> RowResult {
    let goal = |bound, peer: Option<&str>| Goal {
        bound,
        peer: peer.map(str::to_owned),
    };
    let floor = || "insert_1".to_owned();
    let declared = Declared {
        operation: operation.to_owned(),
        dataset: "Tiny".to_owned(),
        concurrency,
        events,
        conflict_events: 0,
        reading,
        variant: None,
        server: None,
        one_op: format!("{concurrency} × {operation} of {events}"),
        fills: fills.iter().map(|table| (*table).to_owned()).collect(),
        goals: vec![
            goal(
                Bound::TimesFloor {
                    floor: floor(),
                    // Within the interval of a row of one event.
                    at_most: if reading == Reading::OnTheDataset {
                        1.1
                    } else {
                        1.25
                    },
                },
                Some("a peer, 2.0"),
            ),
            goal(
                Bound::AllocationsAboveFloor {
                    floor: floor(),
                    at_most: 1.0,
                },
                None,
            ),
        ],
    };
    let figures = Measured::Figures(Box::new(figures(concurrency, events)));
    RowResult {
        id: declared.id(),
        declared,
        workers: 2,
        measured: figures,
    }
}

fn figures(concurrency: usize, events: u64) -> Figures {
    let ns = 200_000.0 + 10_000.0 * (concurrency as f64 + events as f64);
    let around = |value: f64| Interval {
        value,
        low: value * 0.98,
        high: value * 1.02,
    };
    let floor = FloorFigures {
        name: "insert_1".to_owned(),
        what: "one INSERT of the same event".to_owned(),
        concurrency: 1,
        mean_ns: around(200_000.0),
        p50_ns: 180_000,
        p99_ns: 600_000,
        ratio: around(ns / 200_000.0),
        bytes_per_op: 500.0,
        allocations_per_op: 10.0,
    };
    Figures {
        mean_ns: around(ns),
        calls_per_second: concurrency as f64 * 1e9 / ns,
        p50_ns: (ns * 0.9) as u64,
        p99_ns: (ns * 3.0) as u64,
        ops_per_latency: 1,
        success_rate: 1.0,
        refused_rate: 0.0,
        bytes_per_op: 1_500.0 * concurrency as f64,
        allocations_per_op: 12.0 * concurrency as f64,
        peak_bytes: 2_048,
        floors: vec![floor],
        samples: vec![
            SampleFigures {
                ops: 10,
                ns_per_op: ns * 0.99,
            },
            SampleFigures {
                ops: 10,
                ns_per_op: ns * 1.01,
            },
        ],
    }
}

fn saved(target: &str, rows: Vec<RowResult>) -> TargetRun {
    TargetRun {
        version: VERSION,
        target: target.to_owned(),
        run: RUN,
        partial: None,
        environment: crate::common::environment(),
        invocation: Invocation {
            command: "cargo bench".to_owned(),
            started: RUN.started,
            profile: Profile::quick(),
        },
        facts: vec![("PostgreSQL".to_owned(), "15.18".to_owned())],
        rows,
    }
}
