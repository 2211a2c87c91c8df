use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far long work is, on a terminal only. It draws on the standard error output.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of work with a known end, or without one for `None`.
    pub(crate) fn new(what: &'static str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg}: {human_pos} of {human_len}, {per_sec}, {eta} left",
            None => "{msg}: {human_pos}, {per_sec}",
        };
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar.with_message(what))
    }

    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
