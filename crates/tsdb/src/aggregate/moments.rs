use super::accumulate::Accumulate;
use crate::is_stale;

/// The state for the standard deviation: the mean, and the sum of the squared distances from it.
/// The parts are combined with the formula of Chan, Golub and LeVeque (1979). Unlike a sum of the
/// squared values, this keeps its precision for large values.
#[derive(Clone, Copy, Default)]
pub(super) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn deviation(&self) -> Option<f64> {
        Some((self.squares / self.count).sqrt())
    }

    fn from_values(values: impl Iterator<Item = f64> + Clone) -> Self {
        let (count, sum) = values
            .clone()
            .fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
        let mean = sum / count;
        let squares = values.map(|value| (value - mean) * (value - mean)).sum();
        Self {
            count,
            mean,
            squares,
        }
    }

    fn add(&mut self, part: &Self) {
        if part.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            // The formula below would square the distance from zero, which may overflow.
            *self = *part;
            return;
        }
        let count = self.count + part.count;
        let distance = part.mean - self.mean;
        self.mean += distance * (part.count / count);
        self.squares += part.squares + distance * distance * (self.count * part.count / count);
        self.count = count;
    }
}

impl Accumulate for Moments {
    fn samples(&mut self, _: &[i64], values: &[f64]) {
        let values = values.iter().copied().filter(|value| !is_stale(*value));
        self.add(&Self::from_values(values));
    }

    fn is_empty(&self) -> bool {
        self.count == 0.0
    }
}
