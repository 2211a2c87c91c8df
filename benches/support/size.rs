use bench::Profile;
use course_enrollment::Dataset;

/// A dataset of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Its name in the tables.
    pub(crate) label: &'static str,
    /// The dataset that is loaded.
    pub(crate) dataset: Dataset,
}

impl Size {
    /// The datasets of the published tables; the large one only in a full run. A smoke run declares
    /// the same rows and loads the tiny dataset for all of them.
    pub(crate) fn of_tables(profile: &Profile) -> Vec<Self> {
        let mut sizes = vec![
            Self::new("Tiny", Dataset::Tiny),
            Self::new("Small", Dataset::Small),
            Self::new("Medium", Dataset::Medium),
        ];
        if profile.is_full() {
            sizes.push(Self::new("Large", Dataset::Large));
        }
        // The labels stay, so a smoke run has the same row names.
        if profile.is_smoke() {
            sizes
                .iter_mut()
                .for_each(|size| size.dataset = Dataset::Tiny);
        }
        sizes
    }

    fn new(label: &'static str, dataset: Dataset) -> Self {
        Self { label, dataset }
    }

    /// True for the dataset that the goals refer to. The peers of the goals were measured on it.
    pub(crate) fn has_goals(self) -> bool {
        self.label == "Medium"
    }
}
