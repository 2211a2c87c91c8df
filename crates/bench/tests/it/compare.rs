//! Comparisons of runs.

use crate::common::{FIRST, Folders, SECOND};
use bench::compare::{Comparison, PROGRAMS, Verdict};
use bench::{Error, Measured, TargetRun};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A copy of the run whose row times are multiplied by `factor`, plus or minus `noise`.
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
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap()
}

#[test]
fn verdict_requires_interval_that_excludes_one() {
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
fn rounds_are_compared_pairwise() {
    let run = measured();
    // From round to round the machine slows down by up to a factor of four, for both sides alike.
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
fn single_round_gives_no_verdict() {
    let run = measured();
    let rounds = [(vec![run.clone()], vec![slowed(&run, 9.0, 0.0)])];
    let comparison = Comparison::of_rounds(&rounds).unwrap();
    assert_eq!(comparison.rows[0].verdict(), Verdict::NotKnown);
}

#[test]
fn runs_of_different_machine_or_profile_are_not_comparable() {
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
fn rows_missing_on_one_side_are_listed() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    folders.measure("alpha", folders.settings(SECOND)).unwrap();
    folders.measure("beta", folders.settings(SECOND)).unwrap();
    let load = |run: bench::RunId| TargetRun::load_all(&folders.runs().join(run.folder())).unwrap();
    let comparison = Comparison::of_runs(&load(FIRST), &load(SECOND)).unwrap();
    assert_eq!(comparison.rows.len(), 1);
    assert_eq!(comparison.missing, ["beta: beta/none/C1/E1 on 2 workers"]);
}

/// After Ctrl-C a comparison ends without removing its work trees.
#[test]
fn leftover_work_tree_is_replaced() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("not run: there is no git");
        return;
    }
    let folders = tempfile::tempdir().unwrap();
    let repository = folders.path().join("repository");
    let program = folders.path().join("target/release/compare");
    let left = folders
        .path()
        .join("target/registrar-bench/revisions/before");
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
    // The revision is empty, so the build fails.
    assert!(said.contains("cargo failed"), "{said}");
    assert!(!left.exists(), "the work tree is still there");
}

/// `compare --bench` finds the program of a target in this list.
#[test]
fn program_list_matches_benches_and_pages() {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    for (program, targets) in PROGRAMS {
        let main = fs::read_to_string(benches.join(program).join("main.rs")).unwrap();
        assert_eq!(main.matches("declare").count(), targets.len(), "{program}");
        for target in targets {
            assert!(main.contains(&format!("(\"{target}\", &")), "{target}");
        }
    }
    let known: Vec<&str> = PROGRAMS
        .iter()
        .flat_map(|(_, targets)| *targets)
        .copied()
        .collect();
    for page in bench::pages::all() {
        for target in page.targets {
            assert!(known.contains(target), "{} needs {target}", page.slug);
        }
    }
}
