use crate::labels::push_label;
use crate::{Error, Label, Labels, METRIC_NAME};

/// Builds [`Labels`] from names and values in any order, checked at the end.
///
/// Keeps its buffers, so that a parser which builds one set after another with the same builder
/// allocates once a set.
#[derive(Clone, Debug, Default)]
pub struct LabelsBuilder {
    given: String,
    spans: Vec<Span>,
    text: String,
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
        let start = self.given.len();
        self.given.push_str(name);
        self.given.push_str(value);
        self.spans.push(Span {
            name: start,
            value: start + name.len(),
            end: self.given.len(),
        });
        self
    }

    /// The set of what was added; the builder is empty afterwards, whatever the outcome.
    ///
    /// # Errors
    /// [`Error::EmptyLabelName`], [`Error::DuplicateLabel`] or [`Error::LabelTooLong`].
    pub fn build(&mut self) -> Result<Labels, Error> {
        let result = self.encode().map(|()| Labels::from_text(&self.text));
        self.clear();
        result
    }

    /// Forgets what was added.
    pub fn clear(&mut self) {
        self.given.clear();
        self.spans.clear();
    }

    fn encode(&mut self) -> Result<(), Error> {
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
