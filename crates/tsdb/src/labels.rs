use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;

use crate::{Error, LabelsBuilder, METRIC_NAME};

/// Seeded once a process, so that nobody outside can choose labels that collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// One label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label<'a> {
    /// Its name; never empty.
    pub name: &'a str,
    /// Its value; never empty, for an empty value says the same as no label.
    pub value: &'a str,
}

/// A set of labels, sorted by name: the identity of a series.
///
/// A clone is a reference. Comparing two different sets is one comparison of numbers, for the hash
/// is computed when the set is built.
#[derive(Clone)]
pub struct Labels {
    hash: u64,
    /// For each label: the name's length as one `char`, the name, the value's length as one
    /// `char`, the value. So equal sets are equal texts, and a label is found without a table.
    text: Arc<str>,
}

/// A set of labels that is borrowed, from one that is kept or from where it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelsRef<'a> {
    hash: u64,
    text: &'a str,
    /// Where the text is kept, if it is.
    shared: Option<&'a Arc<str>>,
}

impl<'a> LabelsRef<'a> {
    /// A set by its text.
    pub(crate) fn from_text(text: &'a str) -> Self {
        Self::with_hash(text, HASHER.hash_one(text))
    }

    /// A set by its text, whose hash is known.
    pub(crate) fn with_hash(text: &'a str, hash: u64) -> Self {
        Self {
            hash,
            text,
            shared: None,
        }
    }

    pub(crate) fn hash_code(self) -> u64 {
        self.hash
    }

    pub(crate) fn text(self) -> &'a str {
        self.text
    }

    /// The set, to be kept.
    pub(crate) fn to_labels(self) -> Labels {
        Labels {
            hash: self.hash,
            text: self.shared.map_or_else(|| self.text.into(), Arc::clone),
        }
    }
}

impl PartialEq for LabelsRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (std::ptr::eq(self.text, other.text) || self.text == other.text)
    }
}

impl Labels {
    /// The longest name or value in bytes, whatever [`Limits`](crate::Limits) allow.
    pub const MAX_LENGTH: usize = 32 * 1024;

    /// The labels of a series: the metric's name and others, in any order. A label with an empty
    /// value is left out.
    ///
    /// # Errors
    /// [`Error::EmptyLabelName`], [`Error::DuplicateLabel`] or [`Error::LabelTooLong`].
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        metric: &str,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, Error> {
        let mut builder = Self::builder();
        builder.label(METRIC_NAME, metric);
        for (name, value) in labels {
            builder.label(name.as_ref(), value.as_ref());
        }
        builder.build()
    }

    /// A builder, which can be used again and again.
    pub fn builder() -> LabelsBuilder {
        LabelsBuilder::default()
    }

    pub(crate) fn from_text(text: &str) -> Self {
        LabelsRef::from_text(text).to_labels()
    }

    pub(crate) fn borrowed(&self) -> LabelsRef<'_> {
        LabelsRef {
            hash: self.hash,
            text: &self.text,
            shared: Some(&self.text),
        }
    }

    /// The metric's name; empty where the set has none.
    pub fn metric(&self) -> &str {
        self.get(METRIC_NAME).unwrap_or_default()
    }

    /// The value of the label `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .take_while(|label| label.name <= name)
            .find(|label| label.name == name)
            .map(|label| label.value)
    }

    /// The labels in order of their names, compared by bytes.
    pub fn iter(&self) -> LabelIter<'_> {
        LabelIter::new(&self.text)
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The set of those labels that `keep` accepts.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(Label<'_>) -> bool) -> Self {
        let mut text = String::with_capacity(self.text.len());
        for label in self.iter().filter(|label| keep(*label)) {
            push_label(&mut text, label);
        }
        Self::from_text(&text)
    }

    pub(crate) fn hash_code(&self) -> u64 {
        self.hash
    }

    /// The bytes that the text occupies, once for all clones.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.len() + 2 * size_of::<usize>()
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

/// Appends a name or a value to the text of a set.
pub(crate) fn push_part(text: &mut String, part: &str) {
    text.push(length_char(part.len()));
    text.push_str(part);
}

/// `length` as a character. Lengths end below the surrogates, where every number is a character.
fn length_char(length: usize) -> char {
    u32::try_from(length)
        .ok()
        .and_then(char::from_u32)
        .expect("a part is at most MAX_LENGTH long")
}

/// The labels of a set; made by [`Labels::iter`].
#[derive(Clone, Debug)]
pub struct LabelIter<'a> {
    rest: &'a str,
}

impl<'a> LabelIter<'a> {
    /// The labels of a set's text.
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

/// By the first label that differs: its name, then its value.
impl Ord for Labels {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// As Prometheus writes it: `cpu_usage{host="a",job="node"}`.
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
