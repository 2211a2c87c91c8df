//! When a page is rendered, and when it is left as it is.

mod common;

use bench::report::{Table, View, floors_table, publish};
use bench::{Error, Expect, Floor, Measured, Op, Outcome, Row, RunId, TargetRun, VERSION, measure};
use common::{FIRST, PAGE, Place, SECOND, TABLE, allocating, declare, yielding};
use std::fs;

#[test]
fn a_page_is_rendered_by_the_last_of_its_targets() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    assert_eq!(place.page(), None);
    place.measure("beta", place.settings(FIRST)).unwrap();

    let page = place.page().unwrap();
    assert!(
        page.contains("| alpha |") && page.contains("| beta |"),
        "{page}"
    );
    assert!(page.contains("| server | none |"), "{page}");
    let raw = fs::read_to_string(place.reports().join("raw/toy.txt")).unwrap();
    assert_eq!(
        raw.matches("Benchmarkalpha/none/C1/E1-").count(),
        10,
        "a line a sample: {raw}"
    );
    let left_over = |name: &str| name.ends_with(".tmp");
    let mut files = fs::read_dir(place.reports())
        .unwrap()
        .map(|file| file.unwrap().file_name());
    assert!(!files.any(|name| left_over(&name.to_string_lossy())));
}

#[test]
fn the_same_run_renders_the_same_page_again() {
    let place = Place::new();
    for target in PAGE.targets {
        place.measure(target, place.settings(FIRST)).unwrap();
    }
    let page = place.page();
    fs::remove_dir_all(place.reports()).unwrap();
    publish(&PAGE, &place.runs().join(FIRST.folder()), &place.reports()).unwrap();
    assert_eq!(place.page(), page);
}

#[test]
fn a_filtered_run_leaves_the_page_alone() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    let mut settings = place.settings(FIRST);
    settings.criterion = settings.criterion.with_filter("another");
    let beta = place.measure("beta", settings).unwrap();
    assert_eq!(
        beta.partial.as_deref(),
        Some("beta/none/C1/E1 was left out")
    );
    assert_eq!(place.page(), None);
}

#[test]
fn a_run_asked_for_in_part_leaves_the_page_alone() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    let mut settings = place.settings(FIRST);
    settings.partial = Some("it was asked for with the argument --exact".to_owned());
    place.measure("beta", settings).unwrap();
    assert_eq!(place.page(), None);
}

#[test]
fn two_runs_never_share_a_page() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    place.measure("beta", place.settings(SECOND)).unwrap();
    assert_eq!(place.page(), None);

    // Nor where a file of one run was put into the other's folder.
    let (first, second) = (
        place.runs().join(FIRST.folder()),
        place.runs().join(SECOND.folder()),
    );
    fs::copy(first.join("alpha.json"), second.join("alpha.json")).unwrap();
    let refused = publish(&PAGE, &second, &place.reports()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "toy needs a complete run: beta has another run"
    );
}

#[test]
fn a_tree_changed_during_the_run_leaves_the_page_alone() {
    let place = Place::new();
    let mut alpha = place.measure("alpha", place.settings(FIRST)).unwrap();
    place.measure("beta", place.settings(FIRST)).unwrap();
    let folder = place.runs().join(FIRST.folder());
    alpha.environment.commit = "another".to_owned();
    alpha.save(&folder).unwrap();
    let refused = publish(&PAGE, &folder, &place.reports()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "toy needs a complete run: beta has another commit"
    );
}

#[test]
fn a_row_that_fails_keeps_nothing_of_its_target() {
    let place = Place::new();
    let refused = Op::setup(|| async { Ok(()) }).call(|_, _| async { Ok(Outcome::Refused) });
    let error = measure("alpha", place.settings(FIRST), |target| {
        declare(target, "alpha")?;
        target.row(
            Row::new("Refused", "none").expect(Expect::Winners(1)),
            &refused,
        );
        Ok(())
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "row Refused/none/C1/E1 failed: 0 of 1 calls succeeded, expected were 1"
    );
    let folder = place.runs().join(FIRST.folder());
    assert_eq!(TargetRun::load(&folder, "alpha").unwrap(), None);
}

#[test]
fn a_row_that_cannot_be_had_says_why() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    measure("beta", place.settings(FIRST), |target| {
        target.unmeasured(
            Row::new("Distant", "none").fills(TABLE),
            "no container engine",
        );
        Ok(())
    })
    .unwrap();
    let page = place.page().unwrap();
    assert!(
        page.contains("| Distant | not measured: no container engine |  |"),
        "{page}"
    );
}

#[test]
fn a_saved_run_of_another_version_is_refused() {
    let place = Place::new();
    let mut alpha = place.measure("alpha", place.settings(FIRST)).unwrap();
    alpha.version += 1;
    let folder = place.runs().join(FIRST.folder());
    alpha.save(&folder).unwrap();
    assert!(matches!(
        TargetRun::load(&folder, "alpha"),
        Err(Error::Unreadable { known: VERSION, .. })
    ));
}

#[test]
fn what_was_saved_reads_back_the_same() {
    let place = Place::new();
    let alpha = place.measure("alpha", place.settings(FIRST)).unwrap();
    let loaded = TargetRun::load(&place.runs().join(FIRST.folder()), "alpha").unwrap();
    assert_eq!(loaded, Some(alpha));
}

#[test]
fn two_rows_of_one_name_are_refused_before_anything_runs() {
    let place = Place::new();
    let error = measure("alpha", place.settings(FIRST), |target| {
        declare(target, "alpha")?;
        target.row(Row::new("alpha", "none"), &allocating());
        Ok(())
    });
    assert!(matches!(error, Err(Error::DuplicateRow { id }) if id == "alpha/none/C1/E1"));
}

#[test]
fn a_target_joins_its_run_though_the_clock_was_set_by_a_second() {
    let place = Place::new();
    place.measure("alpha", place.settings(FIRST)).unwrap();
    let moved = RunId {
        started: FIRST.started + 1,
        ..FIRST
    };
    assert_eq!(moved.joined(&place.runs()), FIRST);
    let later = RunId {
        started: FIRST.started + 60,
        ..FIRST
    };
    assert_eq!(
        later.joined(&place.runs()),
        later,
        "the same process id, used again"
    );
    assert_eq!(SECOND.joined(&place.runs()), SECOND);
}

/// An error that says why a row was not measured may have several lines.
#[test]
fn a_cell_stays_on_the_line_of_its_row() {
    let cell = "no engine:\n  a | b\r\n".to_owned();
    let table = Table::of_text(&["Row"], vec![vec![cell]]).markdown();
    assert_eq!(table, "| Row |\n| --- |\n| no engine: a \\| b |\n");
}

/// A floor beside rows of one caller and beside rows of many is not one floor.
#[test]
fn the_floors_of_a_page_are_told_apart_by_their_callers() {
    let place = Place::new();
    let mut run = measure("alpha", place.settings(FIRST), |target| {
        for (name, callers) in [("first", 1), ("second", 1), ("third", 4)] {
            let what = format!("a turn for each of {callers}");
            let floor = Floor::new("turn", &what, &yielding()).concurrency(callers);
            target.row(Row::new(name, "none").floor(&floor), &yielding());
        }
        Ok(())
    })
    .unwrap();
    for (row, mean_ns) in run.rows.iter_mut().zip([200.0, 400.0, 9_000.0]) {
        let Measured::Figures(figures) = &mut row.measured else {
            panic!("{} was measured", row.id);
        };
        figures.floors[0].mean_ns.value = mean_ns;
    }
    let targets = [run];
    let table = floors_table(&View::new(&targets).unwrap());
    let shown: Vec<_> = table
        .rows
        .iter()
        .map(|cells| cells[..6].join(", "))
        .collect();
    assert_eq!(
        shown,
        [
            "turn, a turn for each of 1, 1, 2, 300, 200–400",
            "turn, a turn for each of 4, 4, 1, 9,000, 9,000–9,000"
        ]
    );
}
