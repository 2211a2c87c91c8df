//! The exact counts of an allocation scope.

use bench::AllocationScope;
use std::process::Command;

const ALONE: &str = "BENCH_TEST_IS_ALONE";

/// The test harness allocates while it starts other tests. So the test runs itself alone in a
/// second process, and checks the exact counts there.
#[test]
fn scope_counts_allocations_of_all_threads() {
    if std::env::var_os(ALONE).is_some() {
        return counts_allocations_of_all_threads();
    }
    let ended = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "scope::scope_counts_allocations_of_all_threads",
            "--nocapture",
        ])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{output}");
    assert!(output.contains("1 passed"), "{output}");
}

fn counts_allocations_of_all_threads() {
    let scope = AllocationScope::start();
    let kept = std::hint::black_box(vec![0_u8; 1_000]);
    drop(std::hint::black_box(vec![0_u8; 5_000]));
    let here = scope.finish();
    assert_eq!((here.allocations, here.bytes), (2, 6_000));
    assert_eq!((here.live_bytes, here.peak_bytes), (1_000, 6_000));
    drop(kept);

    let scope = AllocationScope::start();
    let mut grown: Vec<u8> = Vec::with_capacity(10);
    grown.reserve_exact(100);
    let grown_here = scope.finish();
    assert_eq!(
        (grown_here.allocations, grown_here.bytes),
        (2, 110),
        "a growth counts in full"
    );
    drop(grown);

    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        begun.recv().unwrap();
        drop(std::hint::black_box(vec![0_u8; 1 << 20]));
        end.send(()).unwrap();
    });
    let scope = AllocationScope::start();
    begin.send(()).unwrap();
    ended.recv().unwrap();
    let there = scope.finish();
    other.join().unwrap();
    assert!(there.bytes >= 1 << 20, "{there:?}");
    assert!(there.peak_bytes >= 1 << 20, "{there:?}");
}
