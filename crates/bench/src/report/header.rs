use super::number::{duration, hundredths, whole};
use super::table::Table;
use super::view::View;
use crate::environment::Environment;
use crate::storage::Storage;
use jiff::Timestamp;

/// The commit, machine, command, profile and facts of a run.
pub(super) fn header(view: &View<'_>) -> Table {
    let invocation = view.invocation();
    let mut lines = machine_lines(
        view.environment(),
        invocation.started,
        &invocation.command,
        invocation.profile.text(),
    );
    lines.extend(
        view.facts()
            .into_iter()
            .map(|(name, text)| vec![name, text]),
    );
    Table::of_text(&["", "Measured on"], lines)
}

/// The lines that the head of every page has. `started` is in seconds since 1970.
pub(crate) fn machine_lines(
    environment: &Environment,
    started: u64,
    command: &str,
    profile: String,
) -> Vec<Vec<String>> {
    let changed = if environment.dirty {
        "with uncommitted changes"
    } else {
        "clean"
    };
    [
        (
            "Commit measured",
            format!("{} ({changed})", environment.commit),
        ),
        ("Date", date(started)),
        ("Command", format!("`{command}`")),
        ("Profile", profile),
        (
            "CPU",
            format!("{}, {} cores", environment.cpu, environment.cores),
        ),
        ("Memory", memory(environment.memory_bytes)),
        ("Storage", storage(environment.storage.as_ref())),
        ("Operating system", environment.os.clone()),
        ("Compiler", environment.rustc.clone()),
    ]
    .into_iter()
    .map(|(name, text)| vec![name.to_owned(), text])
    .collect()
}

fn storage(storage: Option<&Storage>) -> String {
    let Some(storage) = storage else {
        return "not known".to_owned();
    };
    let (device, file_system) = (&storage.device, &storage.file_system);
    let flush = duration(storage.flush_ns);
    format!("{device}, {file_system}; {flush} for one page and its fdatasync, before the first row")
}

/// `2026-11-21 00:49 UTC`.
fn date(unix_seconds: u64) -> String {
    let time = Timestamp::from_second(unix_seconds.cast_signed()).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn memory(bytes: u64) -> String {
    let gibibytes = bytes as f64 / f64::from(1 << 30);
    if gibibytes < 10.0 {
        hundredths(gibibytes) + " GiB"
    } else {
        whole(gibibytes) + " GiB"
    }
}
