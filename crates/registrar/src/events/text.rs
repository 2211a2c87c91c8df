use std::io::{self, Write};

use dcb_core::{SequencedEvent, ndjson};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, bold, printable};

/// Prints an event: as a line for people, or as a line of an export.
pub(super) fn print(output: &mut Output, event: &SequencedEvent) -> Result<(), Failure> {
    match output.is_json() {
        true => Ok(ndjson::write_event(output.writer(), event)?),
        false => Ok(write_text(output.writer(), event)?),
    }
}

fn write_text(out: &mut impl Write, event: &SequencedEvent) -> io::Result<()> {
    let time = Timestamp::try_from(event.recorded_at());
    let time = time.map_or_else(|_| "-".to_owned(), |time| time.to_string());
    let event_type = printable(event.event_type());
    write!(out, "{} {time} {}", event.position(), bold(event_type))?;
    for tag in event.tags() {
        write!(out, " {}", printable(tag))?;
    }
    match str::from_utf8(event.data()) {
        Ok("") => writeln!(out),
        Ok(data) => writeln!(out, " {}", printable(data)),
        Err(_) => writeln!(out, " ({} bytes)", event.data().len()),
    }
}
