//! Operators between two vectors: which series find each other, and what labels come of it.

use std::collections::HashMap;

use super::stepped::merged;
use super::{Evaluation, Stepped, arithmetic};
use crate::Labels;
use crate::promql::QueryError;
use crate::promql::absence::is_absent;
use crate::promql::labels::{value_of, with_label, without_name};
use crate::promql::plan::{Cardinality, Grouping, Join, Operator};

impl Evaluation<'_> {
    /// The results for each pair of series that match. A series of the side that may have one must
    /// be alone with its matching labels at each step at which the other side has any; so must,
    /// without `group_left` and `group_right`, one of the other side that has a result.
    pub(super) fn joined(
        &self,
        operator: Operator,
        bool: bool,
        join: &Join,
        left: Vec<Stepped>,
        right: Vec<Stepped>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let swapped = matches!(join.cardinality, Cardinality::OneToMany(_));
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
        // Where a side is empty, nothing is matched, so nothing is one too many.
        let needed = steps_of_any(&many);
        let side = if swapped { "left" } else { "right" };
        let ones = Ones::new(one, &join.matching, side, &needed)?;
        let mut results = Vec::new();
        let mut used = Used::default();
        for series in many {
            let key = join.matching.of(&series.labels);
            let Some(matches) = ones.by_key.get(&key) else {
                continue;
            };
            for &place in matches {
                self.budget.hold(series.values.len())?;
                let result = pairing.result(&series, &ones.series[place])?;
                if matches!(join.cardinality, Cardinality::OneToOne) {
                    used.mark(&key, &result, "left", &needed)?;
                }
                results.push(result);
            }
        }
        merged(results)
    }
}

/// The side with one series for each match, by the labels that are matched on. Several series may
/// share them, as long as they take turns.
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
        let mut used = Used::default();
        for (place, next) in series.iter().enumerate() {
            let key = matching.of(&next.labels);
            used.mark(&key, next, side, needed)?;
            by_key.entry(key).or_default().push(place);
        }
        Ok(Self { series, by_key })
    }
}

/// The steps at which a series has a value, by matching labels: a second one is one too many.
#[derive(Default)]
struct Used(HashMap<Labels, Vec<bool>>);

impl Used {
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

/// Whether any of the series has a value, for each step; nothing without series.
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
    /// A comparison that leaves the left value where it holds.
    filters: bool,
    /// The many are on the right.
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
                Grouping::Only(_) => self.join.matching.of(&named),
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
