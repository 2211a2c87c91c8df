/// The form of the lines in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line, for programs: `timestamp`, `level`, `target`, `message`, and the fields
    /// of the event.
    Json,
}
