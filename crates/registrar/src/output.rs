use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};

use console::{StyledObject, style};
use serde::Serialize;

/// The standard output: lines for people, or JSON for programs.
pub(crate) struct Output {
    json: bool,
    out: BufWriter<Stdout>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let out = BufWriter::new(io::stdout());
        Self { json, out }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a result in one of its two forms.
    pub(crate) fn print<T: Serialize + Display>(&mut self, value: &T) -> io::Result<()> {
        match self.json {
            true => {
                serde_json::to_writer(&mut self.out, value)?;
                self.out.write_all(b"\n")
            }
            false => writeln!(self.out, "{value}"),
        }
    }

    /// The bare output.
    pub(crate) fn writer(&mut self) -> &mut BufWriter<Stdout> {
        &mut self.out
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The text in bold, if the output is a terminal that shows colours.
pub(crate) fn bold<T>(text: T) -> StyledObject<T> {
    style(text).bold()
}

/// The text without characters that would control the terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => printable.extend(character.escape_default()),
            false => printable.push(character),
        }
    }
    printable
}
