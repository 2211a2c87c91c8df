/// The generator SplitMix64 (Steele, Lea, Flood 2014). It returns the same numbers on every machine.
/// It is written here because a crate for random numbers may change its output with an upgrade, and
/// the datasets' digests depend on it.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must be at least 1. The bias is at most `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // Multiplying and shifting is faster than the division that a remainder needs.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in the range, which must not be empty.
    pub(crate) fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// One of the choices, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
