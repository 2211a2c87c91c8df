//! The conditions under which a run writes a page.

use crate::common::{FIRST, Folders, PAGE, SECOND, TABLE, allocating, declare, yielding};
use bench::pages::ALL;
use bench::report::{Page, Published, Table, View, floors_table, publish, render};
use bench::{
    Error, Expect, Facts, Floor, Measured, Op, Outcome, Row, RunId, TargetRun, Unavailable,
    VERSION, measure,
};
use std::fs;

#[test]
fn last_target_of_page_renders_it() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    assert_eq!(folders.page(), None);
    folders.measure("beta", folders.settings(FIRST)).unwrap();

    let page = folders.page().unwrap();
    assert!(
        page.contains("| alpha |") && page.contains("| beta |"),
        "{page}"
    );
    assert!(page.contains("| server | none |"), "{page}");
    let raw = fs::read_to_string(folders.reports().join("raw/toy.txt")).unwrap();
    assert_eq!(
        raw.matches("Benchmarkalpha/none/C1/E1-").count(),
        10,
        "one line per sample: {raw}"
    );
    let left_over = |name: &str| name.ends_with(".tmp");
    let mut files = fs::read_dir(folders.reports())
        .unwrap()
        .map(|file| file.unwrap().file_name());
    assert!(!files.any(|name| left_over(&name.to_string_lossy())));
}

#[test]
fn rendering_saved_run_again_gives_same_page() {
    let folders = Folders::new();
    for target in PAGE.targets {
        folders.measure(target, folders.settings(FIRST)).unwrap();
    }
    let page = folders.page();
    fs::remove_dir_all(folders.reports()).unwrap();
    publish(
        &PAGE,
        &folders.runs().join(FIRST.folder()),
        &folders.reports(),
    )
    .unwrap();
    assert_eq!(folders.page(), page);
}

#[test]
fn filtered_run_writes_no_page() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let mut settings = folders.settings(FIRST);
    settings.criterion = settings.criterion.with_filter("another");
    let beta = folders.measure("beta", settings).unwrap();
    assert_eq!(
        beta.partial.as_deref(),
        Some("beta/none/C1/E1 was left out")
    );
    assert_eq!(folders.page(), None);
}

#[test]
fn partial_run_writes_no_page() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let mut settings = folders.settings(FIRST);
    settings.partial = Some("it was asked for with the argument --exact".to_owned());
    folders.measure("beta", settings).unwrap();
    assert_eq!(folders.page(), None);
}

#[test]
fn targets_of_different_runs_make_no_page() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    folders.measure("beta", folders.settings(SECOND)).unwrap();
    assert_eq!(folders.page(), None);

    // Copying a target's file into the folder of another run does not complete the page either.
    let (first, second) = (
        folders.runs().join(FIRST.folder()),
        folders.runs().join(SECOND.folder()),
    );
    fs::copy(first.join("alpha.json"), second.join("alpha.json")).unwrap();
    let refused = publish(&PAGE, &second, &folders.reports()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "toy needs a complete run: beta has another run"
    );
}

#[test]
fn commit_changed_during_run_makes_no_page() {
    let folders = Folders::new();
    let mut alpha = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    folders.measure("beta", folders.settings(FIRST)).unwrap();
    let folder = folders.runs().join(FIRST.folder());
    alpha.environment.commit = "another".to_owned();
    alpha.save(&folder).unwrap();
    let refused = publish(&PAGE, &folder, &folders.reports()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "toy needs a complete run: beta has another commit"
    );
}

#[test]
fn failed_row_discards_its_target() {
    let folders = Folders::new();
    let refused = Op::setup(|| async { Ok(()) }).call(|_, _| async { Ok(Outcome::Refused) });
    let error = measure("alpha", folders.settings(FIRST), |target| {
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
        "row Refused/none/C1/E1 failed: 0 of 1 calls succeeded, expected 1"
    );
    let folder = folders.runs().join(FIRST.folder());
    assert_eq!(TargetRun::load(&folder, "alpha").unwrap(), None);
}

#[test]
fn unmeasured_row_shows_reason() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    measure("beta", folders.settings(FIRST), |target| {
        target.unmeasured(
            Row::new("Distant", "none").fills(TABLE),
            "no container engine",
        );
        Ok(())
    })
    .unwrap();
    let page = folders.page().unwrap();
    assert!(
        page.contains("| Distant | not measured: no container engine |  |"),
        "{page}"
    );
}

#[test]
fn row_with_unavailable_set_up_is_unmeasured_and_run_goes_on() {
    let folders = Folders::new();
    let reason = || "no container engine".to_owned();
    let missing = Op::setup(move || async move {
        let reason = reason();
        Err::<(), _>(Unavailable { reason }.into())
    });
    let missing = missing.call(|_, _| async { Ok(Outcome::Success) });
    let alpha = measure("alpha", folders.settings(FIRST), |target| {
        target.row(Row::new("Distant", "none").fills(TABLE), &missing);
        declare(target, "alpha")
    })
    .unwrap();
    assert_eq!(alpha.partial, None);
    let reason = reason();
    assert_eq!(alpha.rows[0].measured, Measured::Not { reason });
    assert!(alpha.rows[1].figures().is_some());
}

#[test]
fn reserved_fact_keeps_its_place_and_is_left_out_while_empty() {
    let facts = Facts::default();
    facts.reserve("server");
    facts.set("connections", "TCP");
    assert_eq!(facts.list(), [("connections".into(), "TCP".into())]);
    facts.set("server", "15.18");
    let names: Vec<String> = facts.list().into_iter().map(|fact| fact.0).collect();
    assert_eq!(names, ["server", "connections"]);
}

#[test]
fn saved_run_of_other_version_is_refused() {
    let folders = Folders::new();
    let mut alpha = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    alpha.version += 1;
    let folder = folders.runs().join(FIRST.folder());
    alpha.save(&folder).unwrap();
    assert!(matches!(
        TargetRun::load(&folder, "alpha"),
        Err(Error::Unreadable { known: VERSION, .. })
    ));
}

#[test]
fn saved_run_reads_back_unchanged() {
    let folders = Folders::new();
    let alpha = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let loaded = TargetRun::load(&folders.runs().join(FIRST.folder()), "alpha").unwrap();
    assert_eq!(loaded, Some(alpha));
}

#[test]
fn duplicate_row_is_refused_before_measuring() {
    let folders = Folders::new();
    let error = measure("alpha", folders.settings(FIRST), |target| {
        declare(target, "alpha")?;
        target.row(Row::new("alpha", "none"), &allocating());
        Ok(())
    });
    assert!(matches!(error, Err(Error::DuplicateRow { id }) if id == "alpha/none/C1/E1"));
}

#[test]
fn row_of_unknown_table_is_refused_before_measuring() {
    let folders = Folders::new();
    let error = measure("alpha", folders.settings(FIRST), |target| {
        target.row(Row::new("lost", "none").fills("tyo"), &allocating());
        Ok(())
    });
    let table = "tyo".to_owned();
    assert!(matches!(error, Err(Error::UnknownTable { table: named, .. }) if named == table));
}

/// A mistake in a page would otherwise show at the end of a run of minutes.
#[test]
fn every_page_renders_and_shows_all_its_published_figures() {
    let folders = Folders::new();
    let mut run = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    run.rows.clear();
    for page in &ALL {
        let rendered = render(page, std::slice::from_ref(&run)).unwrap();
        assert!(!rendered.markdown.contains("{{"), "{}", rendered.markdown);
        let published: Published = serde_json::from_str(page.published).unwrap();
        for name in published.keys() {
            let is_shown = page.tables().any(|table| table == name);
            assert!(is_shown, "{} does not show {name}", page.slug);
        }
    }
}

#[test]
fn mistake_in_page_is_named() {
    let folders = Folders::new();
    let run = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    for (text, reason) in [
        (
            "{{seed toy: Operation | Speed}}",
            "there is no column Speed",
        ),
        ("{{nothing}}", "it has no part nothing"),
        ("{{two words}}", "{{two words}} has no meaning"),
        ("a {{Latency of toy: alpha", "braces are not closed"),
        ("a {{value}}", "it has no value value"),
    ] {
        let page = Page { text, ..PAGE };
        let error = render(&page, std::slice::from_ref(&run)).unwrap_err();
        assert_eq!(error.to_string(), format!("page toy: {reason}"));
    }
}

#[test]
fn published_row_without_measured_row_keeps_its_place_and_dataset() {
    let folders = Folders::new();
    let run = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let page = Page {
        text: "{{seed toy: Operation | Data = Dataset | Points = Events | Latency | Published}}",
        published: r#"{"toy": {"machine": "M", "rows": [["Far", "1 series", 1, 1000, "9 ms"]]}}"#,
        ..PAGE
    };
    let page = render(&page, &[run]).unwrap().markdown;
    let far = "| Far | 1 series | 1,000 | not measured: no benchmark has this row | 9 ms |";
    assert_eq!(page.lines().nth(2), Some(far), "{page}");
}

#[test]
fn value_in_text_is_cell_of_row() {
    let folders = Folders::new();
    let run = folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let text = "Row {{Operation of toy: alpha}} is here, row beta {{Latency of toy: beta}}.";
    let page = render(&Page { text, ..PAGE }, &[run]).unwrap().markdown;
    assert_eq!(page, "Row alpha is here, row beta not measured.\n");
}

#[test]
fn target_joins_run_despite_clock_step_of_one_second() {
    let folders = Folders::new();
    folders.measure("alpha", folders.settings(FIRST)).unwrap();
    let moved = RunId {
        started: FIRST.started + 1,
        ..FIRST
    };
    assert_eq!(moved.joined(&folders.runs()), FIRST);
    let later = RunId {
        started: FIRST.started + 60,
        ..FIRST
    };
    assert_eq!(
        later.joined(&folders.runs()),
        later,
        "the process id was reused"
    );
    assert_eq!(SECOND.joined(&folders.runs()), SECOND);
}

/// The reason why a row was not measured may have several lines.
#[test]
fn table_cell_has_no_line_break_or_unescaped_bar() {
    let cell = "no engine:\n  a | b\r\n".to_owned();
    let table = Table::of_text(&["Row"], vec![vec![cell]]).markdown();
    assert_eq!(table, "| Row |\n| --- |\n| no engine: a \\| b |\n");
}

/// A floor next to rows with one caller differs from the same floor next to rows with many.
#[test]
fn floors_with_different_callers_are_listed_separately() {
    let folders = Folders::new();
    let mut run = measure("alpha", folders.settings(FIRST), |target| {
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
