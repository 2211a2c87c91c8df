//! A process-wide allocator that counts while a scope is open.
#![expect(
    unsafe_code,
    reason = "GlobalAlloc is an unsafe trait; each method forwards its arguments unchanged"
)]

#[cfg(feature = "heap-profile")]
use dhat::Alloc as System;
#[cfg(not(feature = "heap-profile"))]
use std::alloc::System;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static OPEN: AtomicBool = AtomicBool::new(false);

/// The system allocator, counting the allocations of all threads while an [`AllocationScope`] is
/// open.
///
/// Without an open scope a call costs one relaxed load, so the timing pass is not slowed. With an
/// open scope it costs four atomic additions on shared cache lines, so allocations are counted in a
/// separate pass. The allocator does not see memory that C code allocates, such as SQLite's.
#[derive(Debug)]
pub struct CountingAllocator;

// SAFETY: every method passes its arguments to `System` unchanged and returns the result of
// `System`, so the contract between the caller and `System` holds. The counters are atomics and
// never allocate, so no method re-enters the allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_new(layout.size());
        // SAFETY: `alloc` and `System::alloc` have the same contract, and the caller keeps it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_new(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // A reallocation counts as a new allocation: it may copy the block.
        count_freed(layout.size());
        count_new(new_size);
        // SAFETY: `block` came from this allocator, hence from `System`, with this layout.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_freed(layout.size());
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

fn count_new(size: usize) {
    if COUNTING.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(size as u64, Relaxed);
        // Relaxed is enough: the counters are read after the scope is closed, and by then the
        // threads that counted have been joined or have reported their results.
        let live = LIVE.fetch_add(size as i64, Relaxed) + size as i64;
        PEAK.fetch_max(live, Relaxed);
    }
}

fn count_freed(size: usize) {
    if COUNTING.load(Relaxed) {
        LIVE.fetch_sub(size as i64, Relaxed);
    }
}

/// The allocations of all threads between the start and the end of an [`AllocationScope`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Calls to allocate or reallocate. A reallocation counts as an allocation of its new size.
    pub allocations: u64,
    /// Bytes requested by those calls.
    pub bytes: u64,
    /// Bytes allocated minus bytes freed. Negative if the scope freed more memory than it
    /// allocated.
    pub live_bytes: i64,
    /// The maximum of `live_bytes`; never negative.
    pub peak_bytes: i64,
}

impl Allocated {
    /// Adds `other`'s counts and keeps the higher peak.
    pub(crate) fn add(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.bytes += other.bytes;
        self.live_bytes += other.live_bytes;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
    }
}

/// Counts from [`start`](Self::start) to [`finish`](Self::finish).
///
/// Only one scope can be open: a second call of [`start`](Self::start) spins until the first scope
/// is closed. A scope may end on a different thread, because tasks move between threads.
#[derive(Debug)]
pub struct AllocationScope {
    _private: (),
}

impl AllocationScope {
    /// Sets the counters to zero and begins to count.
    pub fn start() -> Self {
        // Spinning instead of blocking: a mutex might allocate, and scopes are short.
        while OPEN.swap(true, Acquire) {
            std::thread::yield_now();
        }
        ALLOCATIONS.store(0, Relaxed);
        BYTES.store(0, Relaxed);
        LIVE.store(0, Relaxed);
        PEAK.store(0, Relaxed);
        // Last, so that no allocation is counted before the counters are zero.
        COUNTING.store(true, Relaxed);
        Self { _private: () }
    }

    /// Ends the scope and returns its counts.
    pub fn finish(self) -> Allocated {
        COUNTING.store(false, Relaxed);
        Allocated {
            allocations: ALLOCATIONS.load(Relaxed),
            bytes: BYTES.load(Relaxed),
            live_bytes: LIVE.load(Relaxed),
            peak_bytes: PEAK.load(Relaxed),
        }
    }
}

impl Drop for AllocationScope {
    fn drop(&mut self) {
        COUNTING.store(false, Relaxed);
        OPEN.store(false, Release);
    }
}
