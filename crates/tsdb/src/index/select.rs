//! Finds the series that match a set of conditions.

use std::ops::Bound;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::postings::{Postings, Union};
use super::{Index, Values};
use crate::matcher::Condition;
use crate::pattern::Pattern;
use crate::series_cell::SeriesCell;
use crate::{Labels, Matcher};

/// Up to this number of candidates, checking each against all matchers is cheaper than intersecting
/// bitmaps.
const FEW: u64 = 8;

/// The series that match one condition.
enum Found<'a> {
    Nothing,
    Only(&'a Postings),
    OnlyThese(RoaringBitmap),
    /// All except these. The condition also matches series without the label, which have no postings.
    AllBut(RoaringBitmap),
}

impl Index {
    /// Returns the series that match all conditions.
    pub(crate) fn select(&self, matchers: &[Matcher]) -> Vec<Arc<SeriesCell>> {
        if let Some(candidates) = self.few_candidates(matchers) {
            let fits = |labels: &Labels| matchers.iter().all(|matcher| matcher.matches(labels));
            let series = candidates.filter_map(|ordinal| self.get(ordinal));
            return series.filter(|cell| fits(&cell.labels)).cloned().collect();
        }
        let mut found: Vec<Found<'_>> = Vec::with_capacity(matchers.len());
        for matcher in matchers {
            match self.find(matcher) {
                Found::Nothing => return Vec::new(),
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

    /// Returns the candidates, if one condition leaves at most [`FEW`].
    fn few_candidates(&self, matchers: &[Matcher]) -> Option<impl Iterator<Item = u32>> {
        let equal = matchers
            .iter()
            .filter_map(|matcher| match matcher.condition() {
                Condition::Equal(value) if !value.is_empty() => Some((matcher.name(), value)),
                _ => None,
            });
        let mut postings = equal.filter_map(|(name, value)| self.names.get(name)?.get(value));
        let few = postings.find(|postings| postings.len() <= FEW)?;
        let (one, many) = match few {
            Postings::One(one) => (Some(*one), None),
            Postings::Many(many) => (None, Some(many.iter())),
        };
        Some(one.into_iter().chain(many.into_iter().flatten()))
    }

    fn find(&self, matcher: &Matcher) -> Found<'_> {
        let values = self.names.get(matcher.name());
        if matcher.matches_value("") {
            // Series without the label match too, so collect the ones that don't.
            let Some(values) = values else {
                return Found::AllBut(RoaringBitmap::new());
            };
            return Found::AllBut(union(values, |value| !matcher.matches_value(value)));
        }
        let Some(values) = values else {
            return Found::Nothing;
        };
        match matcher.condition() {
            Condition::Equal(value) => values.get(value).map_or(Found::Nothing, Found::Only),
            Condition::Matches(Pattern::OneOf(texts)) => {
                let mut found = Union::default();
                let postings = texts.iter().filter_map(|text| values.get(text.as_str()));
                postings.for_each(|postings| found.add(postings));
                Found::OnlyThese(found.finish())
            }
            Condition::Matches(pattern) => Found::OnlyThese(prefixed(values, pattern)),
            Condition::NotEqual(_) | Condition::NotMatches(_) => {
                Found::OnlyThese(union(values, |value| matcher.matches_value(value)))
            }
        }
    }

    fn intersect(&self, found: Vec<Found<'_>>) -> RoaringBitmap {
        let mut only: Option<RoaringBitmap> = None;
        let mut but = RoaringBitmap::new();
        let mut many: Vec<&RoaringBitmap> = Vec::new();
        let mut owned: Vec<RoaringBitmap> = Vec::new();
        for part in found {
            match part {
                Found::Nothing => return RoaringBitmap::new(),
                Found::Only(Postings::One(one)) => owned.push([*one].into_iter().collect()),
                Found::Only(Postings::Many(these)) => many.push(these),
                Found::OnlyThese(these) => owned.push(these),
                Found::AllBut(these) => but |= these,
            }
        }
        many.extend(&owned);
        // The smallest first keeps the intermediate results small.
        many.sort_by_key(|these| these.len());
        for these in many {
            only = Some(only.map_or_else(|| these.clone(), |only| only & these));
        }
        only.unwrap_or_else(|| self.all.clone()) - but
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

/// Returns the series whose value matches. Visits only the values with the prefix of the pattern.
fn prefixed(values: &Values, pattern: &Pattern) -> RoaringBitmap {
    let prefix = pattern.prefix();
    let any = matches!(pattern, Pattern::Prefix(_));
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
    // `char::MAX` has no successor, so increment the last character before it.
    let (offset, last) = prefix.char_indices().rfind(|(_, last)| *last < char::MAX)?;
    let mut text = prefix[..offset].to_owned();
    text.extend((last..=char::MAX).nth(1));
    Some(text)
}
