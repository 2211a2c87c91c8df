//! `report <run folder>`: renders the pages again from a saved, complete run.

use bench::report::publish;
use bench::{Error, pages};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: report <run folder, one of target/registrar-bench>");
        return ExitCode::from(2);
    };
    match render_all(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn render_all(folder: &Path) -> Result<(), Error> {
    for page in pages::all() {
        publish(&page, folder, &bench::reports_folder())?;
        eprintln!("{} written", page.slug);
    }
    Ok(())
}
