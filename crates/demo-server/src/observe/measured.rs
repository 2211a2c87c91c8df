use tsdb::{Labels, LabelsBuilder};

/// Values with the labels of their series.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// The value of the label `job` for all values.
    job: Option<&'static str>,
    builder: LabelsBuilder,
    pub(super) values: Vec<(Labels, f64)>,
}

impl Measured {
    /// An empty list whose values will have this job.
    pub(super) fn with_job(job: &'static str) -> Self {
        Self {
            job: Some(job),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, metric: &str, labels: &[(&str, &str)], value: f64) {
        self.builder.metric(metric);
        for (name, value) in labels {
            self.builder.label(name, value);
        }
        // A label with an empty value counts as missing. `/metrics` has no label `job`, because
        // Prometheus adds its own.
        self.builder.label("job", self.job.unwrap_or_default());
        let labels = self.builder.build();
        let labels = labels.expect("the server's labels are few, short and distinct");
        self.values.push((labels, value));
    }

    /// The values of the counters that change with every request and every write. The others change on
    /// a server at rest: the server writes its own samples, which are forwarded too, and followers wait.
    pub(super) fn counters(&self) -> impl Iterator<Item = f64> + '_ {
        let values = self.values.iter();
        let is_counter = |labels: &Labels| {
            let metric = labels.get(tsdb::METRIC_NAME).unwrap_or_default();
            metric.ends_with("_total")
                && !metric.contains("_follower_")
                && !metric.starts_with("tsdb_")
                && !metric.starts_with("registrar_forward_")
        };
        values
            .filter(move |(labels, _)| is_counter(labels))
            .map(|(_, value)| *value)
    }
}
