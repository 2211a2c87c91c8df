//! Operators between two vectors: which series match, and which labels the result has.

use std::collections::HashMap;

use super::budget::Budget;
use super::stepped::merged;
use super::{Evaluation, Stepped, arithmetic};
use crate::QueryError;
use crate::absence::is_absent;
use crate::labels::{value_of, with_label, without_name};
use crate::plan::{Cardinality, Grouping, Join, Operator};
use crate::{Labels, METRIC_NAME};

impl Evaluation<'_> {
    /// The results of all pairs of series that match. The query fails if two series of the "one"
    /// side have the same matching labels at a step at which the "many" side has a value. Without
    /// `group_left` and `group_right`, it also fails if two pairs have the same matching labels at
    /// a step; with them, if their results also have the same labels. It fails even if a comparison
    /// drops these pairs.
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
        let [left_fill, right_fill] = join.fill;
        let (many_fill, one_fill) = if swapped {
            (right_fill, left_fill)
        } else {
            (left_fill, right_fill)
        };
        let Some(steps) = many.first().or(one.first()).map(|any| any.values.len()) else {
            return Ok(Vec::new());
        };
        let compares = arithmetic::compares(operator);
        let pairing = Pairing {
            operator,
            compares,
            filters: compares && !bool,
            swapped,
            join,
        };
        // Nothing is matched at a step at which the "many" side has no values, so duplicates on the
        // "one" side are not an error there, unless values are filled in.
        let needed = match join.fill {
            [None, None] => steps_of_any(&self.budget, &many)?,
            _ => vec![true; steps],
        };
        let side = if swapped { "left" } else { "right" };
        let ones = Ones::new(&self.budget, one, &join.matching, (side, &needed))?;
        let mut results = Vec::new();
        let mut pairs = Pairs::default();
        let mut pair = |key: &Labels, many: &Stepped, one: &Stepped| {
            self.budget.hold(many.values.len())?;
            let result = pairing.result(many, one)?;
            pairs.add(&join.cardinality, key, &result.labels, [many, one])?;
            results.push(result);
            Ok::<(), QueryError>(())
        };
        let mut present: HashMap<Labels, UsedSteps> = HashMap::new();
        for series in many {
            self.budget.visit_series(series.values.len())?;
            let key = join.matching.key(&series.labels);
            for &index in ones.by_key.get(&key).into_iter().flatten() {
                pair(&key, &series, &ones.series[index])?;
            }
            if let Some(value) = one_fill {
                self.budget.hold(steps)?;
                pair(
                    &key,
                    &series,
                    &filler(&key, value, ones.used.get(&key), steps),
                )?;
            }
            if many_fill.is_some() {
                let steps = series.values.iter().map(|value| !is_absent(*value));
                present.entry(key).or_default().take(steps);
            }
        }
        if let Some(value) = many_fill {
            for series in &ones.series {
                self.budget.hold(steps)?;
                let key = join.matching.key(&series.labels);
                pair(&key, &filler(&key, value, present.get(&key), steps), series)?;
            }
        }
        merged(&self.budget, results)
    }
}

/// The "one" side, by matching labels. Several series may share a key if they have values at
/// different steps.
struct Ones {
    series: Vec<Stepped>,
    by_key: HashMap<Labels, Vec<usize>>,
    /// The steps at which one of the series of a key has a value.
    used: HashMap<Labels, UsedSteps>,
}

impl Ones {
    /// `side` names the side. Only the steps in `needed` count.
    fn new(
        budget: &Budget,
        series: Vec<Stepped>,
        matching: &Grouping,
        (side, needed): (&'static str, &[bool]),
    ) -> Result<Self, QueryError> {
        let mut by_key: HashMap<Labels, Vec<usize>> = HashMap::new();
        let mut used: HashMap<Labels, UsedSteps> = HashMap::new();
        for (index, next) in series.iter().enumerate() {
            budget.visit_series(next.values.len())?;
            let key = matching.key(&next.labels);
            let values = next.values.iter().zip(needed);
            let steps = values.map(|(value, needed)| *needed && !is_absent(*value));
            if !used.entry(key.clone()).or_default().take(steps) {
                return Err(QueryError::ManyMatches { side, labels: key });
            }
            by_key.entry(key).or_default().push(index);
        }
        Ok(Self {
            series,
            by_key,
            used,
        })
    }
}

/// The steps at which a pair has matched so far. The key of a pair is its matching labels, and also
/// the labels of its result if those tell pairs apart.
#[derive(Default)]
struct Pairs(HashMap<(Labels, Option<Labels>), UsedSteps>);

impl Pairs {
    fn add(
        &mut self,
        cardinality: &Cardinality,
        key: &Labels,
        result: &Labels,
        [many, one]: [&Stepped; 2],
    ) -> Result<(), QueryError> {
        let is_grouped = !matches!(cardinality, Cardinality::OneToOne);
        let used = self
            .0
            .entry((key.clone(), is_grouped.then(|| result.clone())));
        let values = many.values.iter().zip(&one.values);
        let steps = values.map(|(many, one)| !is_absent(*many) && !is_absent(*one));
        if used.or_default().take(steps) {
            return Ok(());
        }
        Err(if is_grouped {
            let labels = result.clone();
            QueryError::SameLabels { labels }
        } else {
            let (side, labels) = ("left", key.clone());
            QueryError::ManyMatches { side, labels }
        })
    }
}

/// Steps that are taken. Empty before the first series.
#[derive(Default)]
struct UsedSteps(Vec<bool>);

impl UsedSteps {
    /// Takes steps. Returns `false` if one of them is taken already.
    fn take(&mut self, steps: impl ExactSizeIterator<Item = bool>) -> bool {
        self.0.resize(steps.len(), false);
        let mut all_free = true;
        for (used, wanted) in self.0.iter_mut().zip(steps) {
            all_free &= !(*used && wanted);
            *used |= wanted;
        }
        all_free
    }
}

/// The series that a side lacks: this value at each step at which none of its series with the key has one.
fn filler(key: &Labels, value: f64, used: Option<&UsedSteps>, steps: usize) -> Stepped {
    let mut filler = Stepped::new(key.clone(), vec![value; steps]);
    if let Some(UsedSteps(used)) = used {
        filler.map(|step, value| (!used[step]).then_some(value));
    }
    filler
}

/// For each step, whether any of the series has a value. Empty if there are no series.
fn steps_of_any(budget: &Budget, series: &[Stepped]) -> Result<Vec<bool>, QueryError> {
    let count = series.first().map_or(0, |first| first.values.len());
    let mut any = vec![false; count];
    for series in series {
        budget.visit(series.values.len())?;
        for (any, value) in any.iter_mut().zip(&series.values) {
            *any |= !is_absent(*value);
        }
    }
    Ok(any)
}

struct Pairing<'a> {
    operator: Operator,
    compares: bool,
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
            drops_name: self.drops_name(many),
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

    /// Whether the answer omits the name that a comparison leaves in the labels.
    fn drops_name(&self, many: &Stepped) -> bool {
        let takes_name = match &self.join.cardinality {
            Cardinality::OneToOne => false,
            Cardinality::ManyToOne(taken) | Cardinality::OneToMany(taken) => {
                taken.iter().any(|name| name == METRIC_NAME)
            }
        };
        let is_kept = self.filters && (takes_name || !many.drops_name);
        self.compares && !is_kept
    }

    fn labels(&self, many: &Labels, one: &Labels) -> Result<Labels, QueryError> {
        let mut named = if self.compares {
            many.clone()
        } else {
            without_name(many)
        };
        match &self.join.cardinality {
            Cardinality::OneToOne => Ok(match &self.join.matching {
                Grouping::Only(_) => self.join.matching.key(&named),
                // A comparison keeps the metric's name, but `Grouping::key` would drop it.
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
