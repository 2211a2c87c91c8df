//! Alone in its process, so that nothing else allocates while it counts.

use bench::AllocationScope;

#[test]
fn a_scope_counts_the_allocations_of_all_threads() {
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
