use crate::labels::{LabelIter, LabelsRef, push_label, push_part};
use crate::{Error, Label, Labels, METRIC_NAME};

/// Builds [`Labels`] from names and values in any order, checked at the end.
///
/// Keeps its buffers, so that a parser which builds one set after another with the same builder
/// allocates once a set.
#[derive(Clone, Debug, Default)]
pub struct LabelsBuilder {
    /// The set's text as far as the labels came in order.
    text: String,
    /// Where the last name in `text` begins and ends.
    last_name: (usize, usize),
    /// All labels, once one did not come in order.
    given: String,
    spans: Vec<Span>,
    built: String,
    built_hash: u64,
}

/// Where a label stands in `given`.
#[derive(Clone, Copy, Debug)]
struct Span {
    name: usize,
    value: usize,
    end: usize,
}

impl LabelsBuilder {
    /// Adds the metric's name.
    pub fn metric(&mut self, metric: &str) -> &mut Self {
        self.label(METRIC_NAME, metric)
    }

    /// Adds a label. One with an empty value is left out, as if it had not been given.
    pub fn label(&mut self, name: &str, value: &str) -> &mut Self {
        if value.is_empty() {
            return self;
        }
        if self.spans.is_empty() {
            let (start, end) = self.last_name;
            let longest = name.len().max(value.len());
            if *name > self.text[start..end] && longest <= Labels::MAX_LENGTH {
                push_part(&mut self.text, name);
                self.last_name = (self.text.len() - name.len(), self.text.len());
                push_part(&mut self.text, value);
                return self;
            }
            let text = std::mem::take(&mut self.text);
            LabelIter::new(&text).for_each(|label| self.give(label));
            self.text = text;
        }
        self.give(Label { name, value });
        self
    }

    fn give(&mut self, label: Label<'_>) {
        let start = self.given.len();
        self.given.push_str(label.name);
        self.given.push_str(label.value);
        self.spans.push(Span {
            name: start,
            value: start + label.name.len(),
            end: self.given.len(),
        });
    }

    /// The set of what was added; the builder is empty afterwards, whatever the outcome.
    ///
    /// # Errors
    /// [`Error::EmptyLabelName`], [`Error::DuplicateLabel`] or [`Error::LabelTooLong`].
    pub fn build(&mut self) -> Result<Labels, Error> {
        self.build_ref().map(LabelsRef::to_labels)
    }

    /// [`build`](Self::build) where the set need not be kept.
    pub(crate) fn build_ref(&mut self) -> Result<LabelsRef<'_>, Error> {
        let result = self.encode();
        std::mem::swap(&mut self.text, &mut self.built);
        self.clear();
        result?;
        self.built_hash = LabelsRef::from_text(&self.built).hash_code();
        Ok(self.built())
    }

    /// The set that was built last; meaningless before the first, and after one that failed.
    pub(crate) fn built(&self) -> LabelsRef<'_> {
        LabelsRef::with_hash(&self.built, self.built_hash)
    }

    /// Forgets what was added.
    pub fn clear(&mut self) {
        self.text.clear();
        self.last_name = (0, 0);
        self.given.clear();
        self.spans.clear();
    }

    /// Makes the text of labels that did not come in order.
    fn encode(&mut self) -> Result<(), Error> {
        if self.spans.is_empty() {
            return Ok(());
        }
        let given = self.given.as_str();
        self.spans
            .sort_unstable_by(|a, b| a.label(given).name.cmp(b.label(given).name));
        self.text.clear();
        let mut previous = "";
        for span in &self.spans {
            let label = span.label(given);
            check(label, previous)?;
            push_label(&mut self.text, label);
            previous = label.name;
        }
        Ok(())
    }
}

impl Span {
    fn label(self, given: &str) -> Label<'_> {
        Label {
            name: &given[self.name..self.value],
            value: &given[self.value..self.end],
        }
    }
}

fn check(label: Label<'_>, previous: &str) -> Result<(), Error> {
    if label.name.is_empty() {
        return Err(Error::EmptyLabelName);
    }
    let longest = label.name.len().max(label.value.len());
    if longest > Labels::MAX_LENGTH {
        return Err(Error::LabelTooLong {
            name: label.name.chars().take(64).collect(),
            max: Labels::MAX_LENGTH,
            actual: longest,
        });
    }
    if label.name == previous {
        return Err(Error::DuplicateLabel {
            name: label.name.to_owned(),
        });
    }
    Ok(())
}
