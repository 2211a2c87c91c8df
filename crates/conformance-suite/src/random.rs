//! A seeded random generator with the same output on every machine.

use uuid::Uuid;

/// A seeded generator. The same seed gives the same numbers on every machine.
///
/// The SplitMix64 generator of Steele, Lea and Flood (2014). It is short, and good enough to choose
/// test cases.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that begins at this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The modulo bias does not matter for test cases.
        self.number() % bound
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    /// Fewer than `bound` of the choices, perhaps with repetitions.
    pub fn some<T: Clone>(&mut self, bound: u64, choices: &[T]) -> Vec<T> {
        (0..self.below(bound)).map(|_| self.pick(choices)).collect()
    }

    /// Any id.
    pub fn id(&mut self) -> Uuid {
        Uuid::from_u64_pair(self.number(), self.number())
    }
}
