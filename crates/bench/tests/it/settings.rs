//! The settings of a run: the lock against other runs, and the number of worker threads.

use crate::common::{FIRST, Folders, allocating};
use bench::report::scaling_table;
use bench::{Op, Outcome, Row, measure};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

#[test]
fn run_waits_for_lock_of_other_run() {
    let folders = Arc::new(Folders::new());
    std::fs::create_dir_all(folders.runs()).unwrap();
    let file = folders.runs().join("lock");
    let other = File::create(&file).unwrap();
    other.lock().unwrap();

    let began = Arc::new(AtomicBool::new(false));
    let run = {
        let (folders, began, file) = (Arc::clone(&folders), Arc::clone(&began), file.clone());
        std::thread::spawn(move || {
            let mut settings = folders.settings(FIRST);
            settings.alone = Some(file);
            measure("alpha", settings, |target| {
                began.store(true, Ordering::SeqCst);
                target.row(Row::new("alpha", "none"), &allocating());
                Ok(())
            })
            .map(|_| ())
        })
    };
    std::thread::sleep(Duration::from_millis(200));
    assert!(
        !began.load(Ordering::SeqCst),
        "it measured while another run had the lock"
    );
    drop(other);
    run.join().unwrap().unwrap();
    let named = std::fs::read_to_string(file).unwrap();
    assert!(named.starts_with("alpha, process "), "{named}");
}

#[test]
fn rows_are_measured_once_per_worker_count() {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.workers = vec![1, 3];
    let saved = measure("alpha", settings, |target| {
        let workers = target.block_on(async { Ok(Handle::current().metrics().num_workers()) })?;
        let op = Op::setup(move || async move { Ok(workers) }).call(|expected, _| async move {
            assert_eq!(Handle::current().metrics().num_workers(), *expected);
            Ok(Outcome::Success)
        });
        target.row(Row::new("alpha", "none").concurrency(4), &op);
        Ok(())
    })
    .unwrap();
    let workers: Vec<usize> = saved.rows.iter().map(|row| row.workers).collect();
    assert_eq!(workers, [1, 3]);
    assert_eq!(saved.rows[0].id, saved.rows[1].id);

    let table = scaling_table(&saved.rows);
    let headings: Vec<&str> = table.columns.iter().map(|column| &*column.0).collect();
    assert_eq!(headings, ["Row", "calls/s at 1", "calls/s at 3", "gain"]);
    assert_eq!(table.rows.len(), 1);
}
