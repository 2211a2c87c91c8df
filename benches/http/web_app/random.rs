use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::time::{SystemTime, UNIX_EPOCH};

/// The random draws of a user. The same seed repeats the draws. Ids also contain the time, so they
/// differ from run to run.
#[derive(Debug)]
pub(crate) struct Random {
    draws: StdRng,
}

impl Random {
    /// Users with different seeds draw different requests.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            draws: StdRng::seed_from_u64(seed),
        }
    }

    /// A number below this one.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.draws.random_range(0..end)
    }

    /// A number between 0 and 1,000.
    pub(super) fn value(&mut self) -> f64 {
        self.draws.random_range(0.0..1_000.0)
    }

    /// `prefix-1795222140000-k3j9x0qz7`.
    pub(super) fn id(&mut self, prefix: &str) -> String {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut left: u64 = self.draws.random();
        let mut id = format!("{prefix}-{}-", now_ms());
        for _ in 0..9 {
            id.push(char::from(DIGITS[(left % 36) as usize]));
            left /= 36;
        }
        id
    }

    /// `prefix:prefix-1795222140000-k3j9x0qz7`.
    pub(super) fn tag(&mut self, prefix: &str) -> String {
        format!("{prefix}:{}", self.id(prefix))
    }

    /// One tag per prefix.
    pub(super) fn tags(&mut self, prefixes: &[&str]) -> Vec<String> {
        prefixes.iter().map(|prefix| self.tag(prefix)).collect()
    }
}

fn now_ms() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis())
}
