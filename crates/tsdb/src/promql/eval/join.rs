//! Operators between two vectors: which series match, and which labels the result has.

use std::collections::HashMap;

use super::stepped::merged;
use super::{Evaluation, Stepped, arithmetic};
use crate::Labels;
use crate::promql::QueryError;
use crate::promql::absence::is_absent;
use crate::promql::labels::{value_of, with_label, without_name};
use crate::promql::plan::{Cardinality, Grouping, Join, Operator};

impl Evaluation<'_> {
    /// The results of all pairs of series that match. The query fails if two series of the "one"
    /// side have the same matching labels at a step at which the "many" side has a value. Without
    /// `group_left` and `group_right`, it also fails if two results have the same matching labels
    /// at a step.
    pub(super) fn joined(
        &self,
        operator: Operator,
        bool: bool,
        join: &Join,
        left: Vec<Stepped>,
        right: Vec<Stepped>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let swapped = matches!(join.cardinality, Cardinality::OneToMany(_));
        // From here on the "many" side comes first; `swapped` restores the order of the operands.
        let (many, one) = if swapped {
            (right, left)
        } else {
            (left, right)
        };
        let filters = arithmetic::compares(operator) && !bool;
        let pairing = Pairing {
            operator,
            filters,
            swapped,
            join,
        };
        // Nothing is matched at a step at which the "many" side has no values, so duplicates on the
        // "one" side are not an error there.
        let needed = steps_of_any(&many);
        let side = if swapped { "left" } else { "right" };
        let ones = Ones::new(one, &join.matching, side, &needed)?;
        let mut results = Vec::new();
        let mut used = UsedSteps::default();
        for series in many {
            let key = join.matching.key(&series.labels);
            let Some(matches) = ones.by_key.get(&key) else {
                continue;
            };
            for &index in matches {
                self.budget.hold(series.values.len())?;
                let result = pairing.result(&series, &ones.series[index])?;
                if matches!(join.cardinality, Cardinality::OneToOne) {
                    used.mark(&key, &result, "left", &needed)?;
                }
                results.push(result);
            }
        }
        merged(results)
    }
}

/// The "one" side, by matching labels. Several series may share a key if they have values at
/// different steps.
struct Ones {
    series: Vec<Stepped>,
    by_key: HashMap<Labels, Vec<usize>>,
}

impl Ones {
    fn new(
        series: Vec<Stepped>,
        matching: &Grouping,
        side: &'static str,
        needed: &[bool],
    ) -> Result<Self, QueryError> {
        let mut by_key: HashMap<Labels, Vec<usize>> = HashMap::new();
        let mut used = UsedSteps::default();
        for (index, next) in series.iter().enumerate() {
            let key = matching.key(&next.labels);
            used.mark(&key, next, side, needed)?;
            by_key.entry(key).or_default().push(index);
        }
        Ok(Self { series, by_key })
    }
}

/// The steps at which a key has a value. A second series with a value at such a step is an error.
#[derive(Default)]
struct UsedSteps(HashMap<Labels, Vec<bool>>);

impl UsedSteps {
    fn mark(
        &mut self,
        key: &Labels,
        series: &Stepped,
        side: &'static str,
        needed: &[bool],
    ) -> Result<(), QueryError> {
        let count = series.values.len();
        let used = self
            .0
            .entry(key.clone())
            .or_insert_with(|| vec![false; count]);
        for ((used, value), needed) in used.iter_mut().zip(&series.values).zip(needed) {
            if is_absent(*value) || !needed {
                continue;
            }
            if *used {
                return Err(QueryError::ManyMatches {
                    side,
                    labels: key.clone(),
                });
            }
            *used = true;
        }
        Ok(())
    }
}

/// For each step, whether any of the series has a value. Empty if there are no series.
fn steps_of_any(series: &[Stepped]) -> Vec<bool> {
    let count = series.first().map_or(0, |first| first.values.len());
    let mut any = vec![false; count];
    for series in series {
        for (any, value) in any.iter_mut().zip(&series.values) {
            *any |= !is_absent(*value);
        }
    }
    any
}

struct Pairing<'a> {
    operator: Operator,
    /// A comparison without `bool`, which keeps the left value if it holds.
    filters: bool,
    /// The "many" side is on the right.
    swapped: bool,
    join: &'a Join,
}

impl Pairing<'_> {
    fn result(&self, many: &Stepped, one: &Stepped) -> Result<Stepped, QueryError> {
        let mut result = Stepped {
            labels: self.labels(&many.labels, &one.labels)?,
            values: many.values.clone(),
        };
        result.map(|step, value| {
            let other = one.values[step];
            if is_absent(other) {
                return None;
            }
            let (left, right) = if self.swapped {
                (other, value)
            } else {
                (value, other)
            };
            if self.filters {
                arithmetic::filter(self.operator, left, right)
            } else {
                Some(arithmetic::number(self.operator, left, right))
            }
        });
        Ok(result)
    }

    fn labels(&self, many: &Labels, one: &Labels) -> Result<Labels, QueryError> {
        let mut named = if self.filters {
            many.clone()
        } else {
            without_name(many)
        };
        match &self.join.cardinality {
            Cardinality::OneToOne => Ok(match &self.join.matching {
                Grouping::Only(_) => self.join.matching.key(&named),
                // A filter keeps the metric's name, but `Grouping::key` would drop it.
                Grouping::Without(names) => {
                    named.filtered(|label| names.iter().all(|name| name != label.name))
                }
            }),
            Cardinality::ManyToOne(taken) | Cardinality::OneToMany(taken) => {
                for name in taken {
                    named = with_label(&named, name, value_of(one, name))?;
                }
                Ok(named)
            }
        }
    }
}
