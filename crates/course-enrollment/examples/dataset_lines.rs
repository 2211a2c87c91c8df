//! Prints a dataset as lines of JSON: `cargo run --example dataset_lines -- tiny`.

use std::error::Error;
use std::io::{BufWriter, Write, stdout};

use course_enrollment::Dataset;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| Dataset::Tiny.to_string());
    let mut out = BufWriter::new(stdout().lock());
    name.parse::<Dataset>()?
        .generate()
        .write_json_lines(&mut out)?;
    out.flush()?;
    Ok(())
}
