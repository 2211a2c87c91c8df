//! A command that disturbs the store during a race.

use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Runs the command until the race has ended.
pub(crate) struct Disturbance {
    /// Dropped at the end of the race.
    race: Sender<()>,
    /// How often the command ran, or why it failed.
    runs: Option<JoinHandle<Result<u64, String>>>,
}

impl Disturbance {
    /// Without a command, nothing is disturbed.
    pub(crate) fn begin(command: Option<&str>, every: Duration) -> Self {
        let (race, is_over) = channel::<()>();
        let command = command.map(str::to_owned);
        let runs = command.map(|command| {
            std::thread::spawn(move || {
                let mut runs = 0;
                while is_over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    run(&command)?;
                    runs += 1;
                }
                Ok(runs)
            })
        });
        Self { race, runs }
    }

    /// Ends the disturbance. A race in which its command failed or never ran has no verdict.
    pub(crate) fn end_of_race<T>(self, history: Result<T, String>) -> Result<T, String> {
        drop(self.race);
        let Some(runs) = self.runs else {
            return history;
        };
        let runs = runs
            .join()
            .map_err(|_| "the thread of --disturb panicked")??;
        match runs {
            0 => {
                Err("the race was over before the first --disturb: ask for more --calls".to_owned())
            }
            more => {
                println!("disturbed {more} times");
                history
            }
        }
    }
}

fn run(command: &str) -> Result<(), String> {
    let status = Command::new("sh").arg("-c").arg(command).status();
    let status = status.map_err(|error| format!("--disturb did not start: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("--disturb {command:?}: {status}")),
    }
}
