/// The weights of indices, for random draws in proportion to the weights. They are kept in a Fenwick
/// tree, so a draw and a change of a weight each take O(log n).
///
/// Weights are integers, so that draws are exact and the same on every machine.
pub(crate) struct Weights {
    weights: Vec<u64>,
    /// `sums[i]` is the sum of `weights[i - n..i]`, where `n` is the lowest set bit of `i`.
    /// `sums[0]` is unused.
    sums: Vec<u64>,
    total: u64,
}

impl Weights {
    pub(crate) fn zero(len: usize) -> Self {
        Self {
            weights: vec![0; len],
            sums: vec![0; len + 1],
            total: 0,
        }
    }

    /// The sum of all weights.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn set(&mut self, index: usize, weight: u64) {
        // A weight may shrink. Then `change` wraps around, and adding it wraps back: the sums stay
        // in range.
        let change = weight.wrapping_sub(self.weights[index]);
        self.weights[index] = weight;
        self.total = self.total.wrapping_add(change);
        let mut node = index + 1;
        while node < self.sums.len() {
            self.sums[node] = self.sums[node].wrapping_add(change);
            // The next sum that covers `index`: add the lowest set bit.
            node += node & node.wrapping_neg();
        }
    }

    /// The index at `point` if the weights are laid end to end. `point` must be less than the
    /// total. An index with weight 0 is never returned.
    pub(crate) fn find(&self, mut point: u64) -> usize {
        let mut node = 0;
        let mut step = (self.sums.len() - 1).next_power_of_two();
        while step > 0 {
            // With `<=` instead of `<`, an index with weight 0 is passed over.
            if let Some(&sum) = self.sums.get(node + step)
                && sum <= point
            {
                point -= sum;
                node += step;
            }
            step /= 2;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::Weights;

    #[test]
    fn find_returns_the_index_at_every_point() {
        for len in 1..=9 {
            let mut weights = Weights::zero(len);
            for round in 0..3 {
                for index in 0..len {
                    weights.set(index, ((index * 7 + round * 5) % 4) as u64);
                }
                let spans: Vec<usize> = (0..len)
                    .flat_map(|index| vec![index; (index * 7 + round * 5) % 4])
                    .collect();
                assert_eq!(weights.total(), spans.len() as u64);
                for (point, &index) in spans.iter().enumerate() {
                    assert_eq!(weights.find(point as u64), index, "{len} {round} {point}");
                }
            }
        }
    }
}
