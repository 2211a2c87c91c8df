use std::fmt::Write;

use super::Answer;
use super::point::PointReader;
use super::scan::{Malformed, Scanner};
use crate::Db;
use crate::push_json_string;
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};

/// Writes the point or the array of points in a body. See the [module](super) for the answers.
///
/// The body is read to its end before anything is written.
pub fn write(db: &Db, body: &[u8]) -> Answer {
    match ingest(db, body) {
        Ok(ingested) => report(&ingested),
        Err(error) => Answer::bad_request(&error),
    }
}

/// [`write()`] without the answer, for a caller that counts points. [`report`] makes the answer.
///
/// # Errors
/// A text for the sender, if the body is not JSON or not points. Nothing was written.
pub fn ingest(db: &Db, body: &[u8]) -> Result<Ingested, String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("malformed JSON: {error}"))?;
    let mut scanner = Scanner::new(text);
    match scanner.peek() {
        // Nothing is written before the whole array has been parsed.
        Some(b'[') => Ok(array(&mut scanner)
            .map_err(|error| error.to_string())?
            .write(db)),
        Some(b'{') => single(db, &mut scanner),
        _ => Err("the body must be a point or an array of points".into()),
    }
}

fn array(scanner: &mut Scanner<'_>) -> Result<Points, Malformed> {
    let mut points = Points::default();
    let mut reader = PointReader::default();
    scanner.expect(b'[', "an array")?;
    if !scanner.accept(b']') {
        loop {
            match reader.read(scanner)? {
                Ok((labels, sample)) => points.push(labels, sample),
                Err(fault) => points.refuse(fault),
            }
            if !scanner.accept(b',') {
                break;
            }
        }
        scanner.expect(b']', "a comma or a closing bracket")?;
    }
    scanner.end()?;
    Ok(points)
}

/// Reads and writes a body that is a single object. An object that is not a point is an error of
/// the whole body. A point that the engine refuses counts as a point that was not written.
fn single(db: &Db, scanner: &mut Scanner<'_>) -> Result<Ingested, String> {
    let mut reader = PointReader::default();
    let point = reader.read(scanner).map_err(|error| error.to_string())?;
    scanner.end().map_err(|error| error.to_string())?;
    let (labels, sample) = point.map_err(|fault| fault.to_string())?;
    // A single point needs no batch.
    Ok(match db.append_by_labels(labels, sample) {
        Ok(()) => Ingested {
            written: 1,
            in_1970: usize::from(Ingested::is_in_1970(sample.timestamp_ms)),
            ..Ingested::default()
        },
        Err(error) => Ingested::refused(Fault::Engine(error)),
    })
}

/// The 200 or 206 answer to a body that was read.
pub fn report(ingested: &Ingested) -> Answer {
    let mut body = String::with_capacity(24);
    // Writing to a String doesn't fail.
    let _ = write!(body, r#"{{"written":{}"#, ingested.written);
    if ingested.errors.is_empty() {
        body.push('}');
        return Answer::ok(body);
    }
    body.push_str(r#","errors":["#);
    for (number, error) in ingested.errors.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(body, r#"{comma}{{"index":{},"error":"#, error.index);
        push_json_string(&mut body, &error.fault.to_string());
        body.push('}');
    }
    body.push_str("]}");
    Answer {
        status: 206,
        body: body.into(),
    }
}
