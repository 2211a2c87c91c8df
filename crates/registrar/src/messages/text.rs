use std::io::Write as _;

use jiff::Timestamp;
use message_store::{RecordedMessage, ndjson};

use crate::failure::Failure;
use crate::output::{Output, bold, printable};

/// Prints a message: as a line for people, or as a line of an export.
pub(super) fn print(output: &mut Output, message: &RecordedMessage) -> Result<(), Failure> {
    if output.is_json() {
        let mut line = Vec::new();
        ndjson::write_message(&mut line, message)?;
        return Ok(output.writer().write_all(&line)?);
    }
    let time = Timestamp::from_microsecond(message.time_us());
    let time = time.map_or_else(|_| "-".to_owned(), |time| time.to_string());
    writeln!(
        output.writer(),
        "{} {time} {} {} {} {}",
        message.global_position(),
        printable(message.stream_name()),
        message.position(),
        bold(printable(message.message_type())),
        printable(message.data_json()),
    )?;
    Ok(())
}
