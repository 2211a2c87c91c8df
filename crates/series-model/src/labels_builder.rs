use crate::labels::{LabelIter, LabelsRef, push_label, push_part};
use crate::{Label, LabelError, Labels, METRIC_NAME};

/// Builds [`Labels`] from names and values in any order. [`build`](Self::build) checks them.
///
/// The builder keeps its buffers, so a parser that reuses it allocates once per set.
#[derive(Clone, Debug, Default)]
pub struct LabelsBuilder {
    /// The text of the set, as long as the labels arrive sorted.
    text: String,
    /// The start and end of the last name in `text`.
    last_name: (usize, usize),
    /// All labels, once one of them has arrived out of order or is too long.
    unsorted: String,
    spans: Vec<Span>,
    built: String,
    built_hash: u64,
}

/// The position of a label in `unsorted`.
#[derive(Clone, Copy, Debug)]
struct Span {
    name: usize,
    value: usize,
    end: usize,
}

impl LabelsBuilder {
    /// Adds the metric name.
    pub fn metric(&mut self, metric: &str) -> &mut Self {
        self.label(METRIC_NAME, metric)
    }

    /// Adds a label. A label with an empty value is ignored.
    pub fn label(&mut self, name: &str, value: &str) -> &mut Self {
        if value.is_empty() {
            return self;
        }
        // Most sources write sorted labels. Those go straight into the text; the first label out of
        // order, or one that is too long, moves all of them to `unsorted`.
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
            LabelIter::new(&text).for_each(|label| self.push_unsorted(label));
            self.text = text;
        }
        self.push_unsorted(Label { name, value });
        self
    }

    fn push_unsorted(&mut self, label: Label<'_>) {
        let start = self.unsorted.len();
        self.unsorted.push_str(label.name);
        self.unsorted.push_str(label.value);
        self.spans.push(Span {
            name: start,
            value: start + label.name.len(),
            end: self.unsorted.len(),
        });
    }

    /// Builds a set of the added labels. The builder is empty afterwards, even after an error.
    ///
    /// # Errors
    /// [`LabelError::EmptyName`], [`LabelError::Duplicate`] or [`LabelError::TooLong`].
    pub fn build(&mut self) -> Result<Labels, LabelError> {
        self.build_ref().map(LabelsRef::to_labels)
    }

    /// Does the same as [`build`](Self::build), without an allocation.
    pub fn build_ref(&mut self) -> Result<LabelsRef<'_>, LabelError> {
        let result = self.encode();
        // Swap and clear the buffers even after an error, so that both keep their capacity.
        std::mem::swap(&mut self.text, &mut self.built);
        self.clear();
        result?;
        self.built_hash = LabelsRef::from_text(&self.built).hash_code();
        Ok(self.built())
    }

    /// Returns the last built set. Meaningless before the first build and after a failed one.
    pub fn built(&self) -> LabelsRef<'_> {
        LabelsRef::with_hash(&self.built, self.built_hash)
    }

    /// Removes all labels.
    pub fn clear(&mut self) {
        self.text.clear();
        self.last_name = (0, 0);
        self.unsorted.clear();
        self.spans.clear();
    }

    /// Sorts and checks the labels in `unsorted`, and writes the text of the set.
    fn encode(&mut self) -> Result<(), LabelError> {
        if self.spans.is_empty() {
            // All labels arrived in ascending order, so the text is complete. Ascending names are
            // neither empty nor repeated.
            return Ok(());
        }
        let unsorted = self.unsorted.as_str();
        self.spans
            .sort_unstable_by(|a, b| a.label(unsorted).name.cmp(b.label(unsorted).name));
        self.text.clear();
        let mut previous = "";
        for span in &self.spans {
            let label = span.label(unsorted);
            check(label, previous)?;
            push_label(&mut self.text, label);
            previous = label.name;
        }
        Ok(())
    }
}

impl Span {
    fn label(self, unsorted: &str) -> Label<'_> {
        Label {
            name: &unsorted[self.name..self.value],
            value: &unsorted[self.value..self.end],
        }
    }
}

fn check(label: Label<'_>, previous: &str) -> Result<(), LabelError> {
    if label.name.is_empty() {
        return Err(LabelError::EmptyName);
    }
    let longest = label.name.len().max(label.value.len());
    if longest > Labels::MAX_LENGTH {
        return Err(LabelError::TooLong {
            name: label.name.chars().take(64).collect(),
            max: Labels::MAX_LENGTH,
            actual: longest,
        });
    }
    if label.name == previous {
        return Err(LabelError::Duplicate {
            name: label.name.to_owned(),
        });
    }
    Ok(())
}
