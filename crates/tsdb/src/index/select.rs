//! Finds the series that match a set of conditions.

use std::ops::Bound;
use std::sync::Arc;

use roaring::RoaringBitmap;
use series_model::{Condition, Pattern};

use super::postings::{Postings, Union};
use super::{Index, Values};
use crate::series_cell::SeriesCell;
use crate::{Labels, Matcher};

/// With at most this many candidates, checking each against all matchers is cheaper than
/// intersecting bitmaps.
const FEW: u64 = 8;

/// The series that match one condition.
enum Matched<'a> {
    Nothing,
    Postings(&'a Postings),
    Ordinals(RoaringBitmap),
    /// All series except these. Used if the condition also matches series without the label,
    /// because those have no postings.
    AllExcept(RoaringBitmap),
}

impl Index {
    /// Returns the series that match all conditions.
    pub(crate) fn select(&self, matchers: &[Matcher]) -> Vec<Arc<SeriesCell>> {
        if let Some(candidates) = self.few_candidates(matchers) {
            let fits = |labels: &Labels| matchers.iter().all(|matcher| matcher.matches(labels));
            let series = candidates.filter_map(|ordinal| self.get(ordinal));
            return series.filter(|cell| fits(&cell.labels)).cloned().collect();
        }
        let mut found: Vec<Matched<'_>> = Vec::with_capacity(matchers.len());
        for matcher in matchers {
            match self.find(matcher) {
                Matched::Nothing => return Vec::new(),
                other => found.push(other),
            }
        }
        let ordinals = self.intersect(found);
        let mut series = Vec::with_capacity(ordinals.len() as usize);
        let mut ordinals = ordinals.iter();
        let mut many = [0; 256];
        loop {
            // Reading ordinals in chunks costs a tenth of reading them one by one.
            let many = ordinals.next_many(&mut many);
            if many.is_empty() {
                return series;
            }
            let found = many.iter().filter_map(|ordinal| self.get(*ordinal));
            series.extend(found.cloned());
        }
    }

    /// Returns the candidates if a condition with `=` leaves at most [`FEW`].
    fn few_candidates(&self, matchers: &[Matcher]) -> Option<impl Iterator<Item = u32>> {
        let equal = matchers
            .iter()
            .filter_map(|matcher| match matcher.condition() {
                // An empty value also matches series without the label, which have no postings.
                Condition::Equal(value) if !value.is_empty() => Some((matcher.name(), value)),
                _ => None,
            });
        let mut postings = equal.filter_map(|(name, value)| self.names.get(name)?.get(value));
        let few = postings.find(|postings| postings.len() <= FEW)?;
        let (one, many) = match few {
            Postings::One(one) => (Some(*one), None),
            Postings::Many(many) => (None, Some(many.ordinals.iter())),
        };
        Some(one.into_iter().chain(many.into_iter().flatten()))
    }

    fn find(&self, matcher: &Matcher) -> Matched<'_> {
        let values = self.names.get(matcher.name());
        if matcher.matches_value("") {
            // Series without the label match too, so collect the ones that don't.
            let Some(values) = values else {
                return Matched::AllExcept(RoaringBitmap::new());
            };
            return Matched::AllExcept(union(values, |value| !matcher.matches_value(value)));
        }
        let Some(values) = values else {
            return Matched::Nothing;
        };
        match matcher.condition() {
            Condition::Equal(value) => values
                .get(value)
                .map_or(Matched::Nothing, Matched::Postings),
            Condition::Matches(pattern) => Matched::Ordinals(match pattern.texts() {
                Some(texts) => one_of(values, texts),
                None => prefixed(values, pattern),
            }),
            Condition::NotEqual(_) | Condition::NotMatches(_) => {
                Matched::Ordinals(union(values, |value| matcher.matches_value(value)))
            }
        }
    }

    fn intersect(&self, found: Vec<Matched<'_>>) -> RoaringBitmap {
        let mut only: Option<RoaringBitmap> = None;
        let mut except = RoaringBitmap::new();
        let mut many: Vec<&RoaringBitmap> = Vec::new();
        let mut owned: Vec<RoaringBitmap> = Vec::new();
        for part in found {
            match part {
                Matched::Nothing => return RoaringBitmap::new(),
                Matched::Postings(Postings::One(one)) => owned.push([*one].into_iter().collect()),
                Matched::Postings(Postings::Many(found)) => many.push(&found.ordinals),
                Matched::Ordinals(ordinals) => owned.push(ordinals),
                Matched::AllExcept(ordinals) => except |= ordinals,
            }
        }
        many.extend(&owned);
        // Starting with the smallest set keeps the intermediate results small.
        many.sort_by_key(|ordinals| ordinals.len());
        for ordinals in many {
            only = Some(only.map_or_else(|| ordinals.clone(), |only| only & ordinals));
        }
        only.unwrap_or_else(|| self.all.clone()) - except
    }
}

fn union(values: &Values, wanted: impl Fn(&str) -> bool) -> RoaringBitmap {
    let mut found = Union::default();
    for (value, postings) in values {
        if wanted(value) {
            found.add(postings);
        }
    }
    found.finish()
}

/// Returns the series whose value is one of these.
fn one_of(values: &Values, texts: &[String]) -> RoaringBitmap {
    let mut found = Union::default();
    let postings = texts.iter().filter_map(|text| values.get(text.as_str()));
    postings.for_each(|postings| found.add(postings));
    found.finish()
}

/// Returns the series whose value matches. Visits only the values with the prefix of the pattern.
fn prefixed(values: &Values, pattern: &Pattern) -> RoaringBitmap {
    let prefix = pattern.prefix();
    let any = pattern.is_prefix();
    let mut found = Union::default();
    let end = successor(prefix);
    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    for (value, postings) in values.range::<str, _>((Bound::Included(prefix), end)) {
        if any || pattern.is_match(value) {
            found.add(postings);
        }
    }
    found.finish()
}

/// Returns the least text greater than every text with `prefix`, if there is one.
fn successor(prefix: &str) -> Option<String> {
    // `char::MAX` has no successor, so increment the last character that is less.
    let (offset, last) = prefix.char_indices().rfind(|(_, last)| *last < char::MAX)?;
    let mut text = prefix[..offset].to_owned();
    text.extend((last..=char::MAX).nth(1));
    Some(text)
}
