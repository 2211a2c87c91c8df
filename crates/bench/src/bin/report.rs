//! `report <run folder>`: renders the pages of a saved run again.

use bench::pages;
use bench::report::publish_each;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: report <run folder in target/registrar-bench>");
        return ExitCode::from(2);
    };
    match publish_each(&pages::ALL, &folder, &bench::reports_folder()) {
        Ok(0) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
