//! Runs side by side.

mod common;

use bench::compare::{Comparison, Verdict};
use bench::{Error, Measured, TargetRun};
use common::{FIRST, Place, SECOND};
use std::fs;
use std::process::Command;

/// A run whose rows take `factor` times as long as they did, give or take `noise`.
fn slowed(run: &TargetRun, factor: f64, noise: f64) -> TargetRun {
    let mut run = run.clone();
    for row in &mut run.rows {
        let Measured::Figures(figures) = &mut row.measured else {
            continue;
        };
        for (index, sample) in figures.samples.iter_mut().enumerate() {
            let side = if index % 2 == 0 { 1.0 } else { -1.0 };
            sample.ns_per_op = 1_000.0 * factor * (1.0 + side * noise);
        }
        figures.mean_ns.value = 1_000.0 * factor;
    }
    run
}

fn measured() -> TargetRun {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap()
}

#[test]
fn a_verdict_is_given_only_where_the_interval_excludes_no_change() {
    let base = slowed(&measured(), 1.0, 0.02);
    let verdict = |after: TargetRun| {
        let comparison = Comparison::of_runs(std::slice::from_ref(&base), &[after]).unwrap();
        (comparison.rows[0].verdict(), comparison.summary())
    };
    assert_eq!(verdict(slowed(&base, 1.1, 0.02)).0, Verdict::Slower);
    assert_eq!(verdict(slowed(&base, 0.9, 0.02)).0, Verdict::Faster);
    assert_eq!(verdict(slowed(&base, 1.01, 0.02)).0, Verdict::NotKnown);
    assert_eq!(verdict(slowed(&base, 1.1, 0.3)).0, Verdict::NotKnown);
    let (_, summary) = verdict(slowed(&base, 0.5, 0.0));
    let expected = "1 rows: 1 faster, 0 slower, 0 not known; together 0.500 ";
    assert!(summary.starts_with(expected), "{summary}");
}

#[test]
fn rounds_are_compared_each_with_itself() {
    let run = measured();
    // The machine is up to four times slower from round to round, always for both.
    let weather = [1.0, 3.0, 0.8, 2.0, 1.4, 4.0];
    let rounds = |change: &dyn Fn(usize) -> f64| {
        let round = |(index, weather): (usize, &f64)| {
            let before = slowed(&run, *weather, 0.0);
            (
                vec![before],
                vec![slowed(&run, weather * change(index), 0.0)],
            )
        };
        let rounds: Vec<_> = weather.iter().enumerate().map(round).collect();
        Comparison::of_rounds(&rounds).unwrap().rows[0].clone()
    };
    let steady = rounds(&|index| 1.05 + 0.01 * (index % 2) as f64);
    assert_eq!(steady.verdict(), Verdict::Slower, "{steady:?}");
    let wild = rounds(&|index| if index % 2 == 0 { 1.3 } else { 0.8 });
    assert_eq!(wild.verdict(), Verdict::NotKnown, "{wild:?}");
}

#[test]
fn one_round_gives_no_verdict() {
    let run = measured();
    let rounds = [(vec![run.clone()], vec![slowed(&run, 9.0, 0.0)])];
    let comparison = Comparison::of_rounds(&rounds).unwrap();
    assert_eq!(comparison.rows[0].verdict(), Verdict::NotKnown);
}

#[test]
fn other_machines_and_profiles_are_refused() {
    let run = measured();
    let mut elsewhere = run.clone();
    elsewhere.environment.cores += 1;
    let mut longer = run.clone();
    longer.invocation.profile.samples += 1;
    for other in [elsewhere, longer] {
        let refused = Comparison::of_runs(std::slice::from_ref(&run), &[other]);
        assert!(matches!(refused, Err(Error::NotComparable { .. })));
    }
}

#[test]
fn rows_of_one_side_are_named() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    place.measure("alpha", place.settings(SECOND)).unwrap();
    place.measure("beta", place.settings(SECOND)).unwrap();
    let load = |run: bench::RunId| TargetRun::load_all(&place.runs().join(run.folder())).unwrap();
    let comparison = Comparison::of_runs(&load(FIRST), &load(SECOND)).unwrap();
    assert_eq!(comparison.rows.len(), 1);
    assert_eq!(comparison.missing, ["beta: beta/none/C1/E1 on 2 workers"]);
}

/// Ctrl-C ends a comparison before it has removed its work trees.
#[test]
fn work_trees_that_an_interrupted_comparison_left_are_replaced() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("not run: there is no git");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let repository = place.path().join("repository");
    let program = place.path().join("target/release/compare");
    let left = place.path().join("target/registrar-bench/revisions/before");
    fs::create_dir_all(&repository).unwrap();
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_compare"), &program).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        let done = git.current_dir(&repository).args(arguments).status();
        assert!(done.unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message=empty"]);
    git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        left.to_str().unwrap(),
    ]);
    assert!(left.exists());
    let said = Command::new(&program)
        .current_dir(&repository)
        .args(["--bench", "append", "HEAD", "HEAD"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&said.stderr);
    // There is nothing to build in the revision.
    assert!(said.contains("cargo failed"), "{said}");
    assert!(!left.exists(), "the work tree is left");
}
