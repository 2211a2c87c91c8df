use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;

use crate::{LabelError, LabelsBuilder, METRIC_NAME};

/// Hashes labels. The seed is random in each process, so that an attacker can't choose labels that
/// collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// One label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label<'a> {
    /// The name. Never empty.
    pub name: &'a str,
    /// The value. Never empty: a label with an empty value counts as missing.
    pub value: &'a str,
}

/// A set of labels, sorted by name. It identifies a series.
///
/// Clones share the text. The hash is computed once, when the set is built. So one comparison of
/// integers almost always tells two different sets apart.
#[derive(Clone)]
pub struct Labels {
    hash: u64,
    /// For each label: the length of the name as one `char`, the name, the length of the value as
    /// one `char`, the value. Equal sets have equal texts, so one string comparison is enough.
    text: Arc<str>,
}

/// A borrowed set of labels: from a [`Labels`], or from a parser's buffer.
#[derive(Clone, Copy, Debug)]
pub struct LabelsRef<'a> {
    hash: u64,
    text: &'a str,
    /// The shared text, if a [`Labels`] owns it. Then [`to_labels`](Self::to_labels) allocates
    /// nothing.
    shared: Option<&'a Arc<str>>,
}

impl<'a> LabelsRef<'a> {
    /// Borrows a set from its text.
    pub(crate) fn from_text(text: &'a str) -> Self {
        Self::with_hash(text, HASHER.hash_one(text))
    }

    /// Borrows a set from its text and its hash.
    pub fn with_hash(text: &'a str, hash: u64) -> Self {
        Self {
            hash,
            text,
            shared: None,
        }
    }

    /// The hash: the same for equal sets in one process.
    pub fn hash_code(self) -> u64 {
        self.hash
    }

    /// The text that [`with_hash`](Self::with_hash) takes.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// The labels, sorted by name.
    pub fn iter(self) -> LabelIter<'a> {
        LabelIter::new(self.text)
    }

    /// Returns an owned set.
    pub fn to_labels(self) -> Labels {
        Labels {
            hash: self.hash,
            text: self.shared.map_or_else(|| self.text.into(), Arc::clone),
        }
    }
}

impl PartialEq for LabelsRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Clones share the text, so equal sets are often the same pointer.
        self.hash == other.hash && (std::ptr::eq(self.text, other.text) || self.text == other.text)
    }
}

impl Labels {
    /// Maximum length of a name or value in bytes, even if the limits of a store allow more.
    pub const MAX_LENGTH: usize = 32 * 1024;

    /// Creates the labels of a series from the metric name and other labels, in any order. Labels
    /// with an empty value are left out.
    ///
    /// # Errors
    /// [`LabelError::EmptyName`], [`LabelError::Duplicate`] or [`LabelError::TooLong`].
    ///
    /// ```
    /// use series_model::Labels;
    ///
    /// let labels = Labels::new("cpu_load", [("host", "web-1"), ("dc", "north")])?;
    /// assert_eq!(labels.to_string(), r#"cpu_load{dc="north",host="web-1"}"#);
    /// # Ok::<(), series_model::LabelError>(())
    /// ```
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        metric: &str,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, LabelError> {
        let mut builder = Self::builder();
        builder.label(METRIC_NAME, metric);
        for (name, value) in labels {
            builder.label(name.as_ref(), value.as_ref());
        }
        builder.build()
    }

    /// Creates a builder, which can build any number of sets.
    pub fn builder() -> LabelsBuilder {
        LabelsBuilder::default()
    }

    pub(crate) fn from_text(text: &str) -> Self {
        LabelsRef::from_text(text).to_labels()
    }

    /// The set, borrowed.
    pub fn borrowed(&self) -> LabelsRef<'_> {
        LabelsRef {
            hash: self.hash,
            text: &self.text,
            shared: Some(&self.text),
        }
    }

    /// Returns the metric name; empty if the set has none.
    pub fn metric(&self) -> &str {
        self.get(METRIC_NAME).unwrap_or_default()
    }

    /// Returns the value of the label `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        // The labels are sorted, so the search ends at the first greater name.
        self.iter()
            .take_while(|label| label.name <= name)
            .find(|label| label.name == name)
            .map(|label| label.value)
    }

    /// Iterates over the labels, sorted by the bytes of their names.
    pub fn iter(&self) -> LabelIter<'_> {
        LabelIter::new(&self.text)
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Returns `true` if the set has no labels.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns a set of the labels that `keep` accepts.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(Label<'_>) -> bool) -> Self {
        let mut text = String::with_capacity(self.text.len());
        for label in self.iter().filter(|label| keep(*label)) {
            push_label(&mut text, label);
        }
        Self::from_text(&text)
    }

    /// The hash: the same for equal sets in one process.
    pub fn hash_code(&self) -> u64 {
        self.hash
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self::from_text("")
    }
}

pub(crate) fn push_label(text: &mut String, label: Label<'_>) {
    push_part(text, label.name);
    push_part(text, label.value);
}

/// Appends a name or a value, with its length, to the text of a set.
pub(crate) fn push_part(text: &mut String, part: &str) {
    text.push(length_char(part.len()));
    text.push_str(part);
}

/// Returns `length` as a character. [`Labels::MAX_LENGTH`] is below the surrogates, so every length
/// is a valid character.
fn length_char(length: usize) -> char {
    u32::try_from(length)
        .ok()
        .and_then(char::from_u32)
        .expect("names and values are at most MAX_LENGTH long")
}

/// Iterator over the labels of a set, created by [`Labels::iter`].
#[derive(Clone, Debug)]
pub struct LabelIter<'a> {
    rest: &'a str,
}

impl<'a> LabelIter<'a> {
    /// Iterates over the labels in the text of a set.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn part(&mut self) -> Option<&'a str> {
        let mut chars = self.rest.chars();
        let length = chars.next()? as usize;
        let (part, rest) = chars.as_str().split_at(length);
        self.rest = rest;
        Some(part)
    }
}

impl<'a> Iterator for LabelIter<'a> {
    type Item = Label<'a>;

    fn next(&mut self) -> Option<Label<'a>> {
        Some(Label {
            name: self.part()?,
            value: self.part()?,
        })
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = Label<'a>;
    type IntoIter = LabelIter<'a>;

    fn into_iter(self) -> LabelIter<'a> {
        self.iter()
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.borrowed() == other.borrowed()
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares the first differing label: by name, then by value.
impl Ord for Labels {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// Formats the set like Prometheus: `cpu_usage{host="a",job="node"}`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric())?;
        let mut others = self.iter().filter(|label| label.name != METRIC_NAME);
        let Some(first) = others.next() else {
            return if self.is_empty() {
                f.write_str("{}")
            } else {
                Ok(())
            };
        };
        write!(f, "{{{}={:?}", first.name, first.value)?;
        for label in others {
            write!(f, ",{}={:?}", label.name, label.value)?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
