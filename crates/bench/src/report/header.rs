use super::number::{hundredths, whole};
use super::table::Table;
use super::view::View;
use jiff::Timestamp;

/// The commit, machine, command, profile and facts of a run.
pub(super) fn header(view: &View<'_>) -> Table {
    let environment = view.environment();
    let invocation = view.invocation();
    let profile = &invocation.profile;
    let changed = if environment.dirty {
        "with uncommitted changes"
    } else {
        "clean"
    };
    let mut lines = vec![
        (
            "Commit measured",
            format!("{} ({changed})", environment.commit),
        ),
        ("Date", date(invocation.started)),
        ("Command", format!("`{}`", invocation.command)),
        ("Profile", profile.text()),
        (
            "CPU",
            format!("{}, {} cores", environment.cpu, environment.cores),
        ),
        ("Memory", memory(environment.memory_bytes)),
        ("Operating system", environment.os.clone()),
        ("Compiler", environment.rustc.clone()),
    ]
    .into_iter()
    .map(|(name, text)| vec![name.to_owned(), text])
    .collect::<Vec<_>>();
    lines.extend(
        view.facts()
            .into_iter()
            .map(|(name, text)| vec![name, text]),
    );
    Table::of_text(&["", "Measured on"], lines)
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
