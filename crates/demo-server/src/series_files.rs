//! The commands `series check` and `series repair`.

use std::error::Error;
use std::fmt::Write as _;

use tsdb::storage::Folder;
use tsdb::{Db, FileReport};

use crate::settings::Settings;
use crate::stores::SERIES_FOLDER;

/// Commands for the files of the series.
#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum SeriesCommand {
    /// Report damage, and change nothing.
    Check,
    /// Keep what is intact, set damaged files aside, and report what may be lost.
    Repair,
}

impl SeriesCommand {
    /// Runs the command, and returns the text to print.
    ///
    /// # Errors
    /// There is no such folder, a server uses it, or it can't be read or written.
    pub(crate) fn run(self, settings: &Settings) -> Result<String, Box<dyn Error>> {
        let folder = settings
            .folder()
            .ok_or("name the data folder with --data")?;
        let folder = folder.join(SERIES_FOLDER);
        if !folder.is_dir() {
            return Err(format!("there are no series in {}", folder.display()).into());
        }
        let folder = Folder::lock(folder)?;
        Ok(match self {
            Self::Check => text(&Db::check_files(&folder)?, "next: series repair"),
            Self::Repair => text(
                &Db::repair_files(folder)?,
                "repaired; the damaged files are kept as damaged-...",
            ),
        })
    }
}

/// One line for each damaged part and each gap.
fn text(report: &FileReport, after_damage: &str) -> String {
    let mut text = format!("{} intact samples\n", report.samples);
    // Writing to a String doesn't fail.
    for part in &report.damage {
        let (file, reason) = (&part.file, part.reason);
        let _ = writeln!(
            text,
            "{file}: {reason}: {} bytes at {}",
            part.bytes, part.offset
        );
    }
    for gap in &report.gaps {
        let (labels, after) = (&gap.labels, time(gap.after_ms));
        let _ = match gap.before_ms {
            Some(before) => writeln!(
                text,
                "{labels}: samples may be lost from {after} to {}",
                time(before)
            ),
            None => writeln!(text, "{labels}: samples may be lost after {after}"),
        };
    }
    if report.unnamed_samples > 0 {
        let lost = report.unnamed_samples;
        let _ = writeln!(
            text,
            "{lost} samples of series whose labels are lost can't be kept"
        );
    }
    let end = match report.damage.is_empty() {
        true => "no damage",
        false => after_damage,
    };
    text + end + "\n"
}

/// Seconds since 1970, as Prometheus writes them.
fn time(timestamp_ms: i64) -> String {
    format!("{}", timestamp_ms as f64 / 1000.0)
}
