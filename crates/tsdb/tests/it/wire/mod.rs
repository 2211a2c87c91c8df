//! The wire formats against tables of good and bad input, and against bytes that nobody meant.

mod aliases;
mod exposition;
mod forwarder;
mod hostile;
mod json_numbers;
mod json_pieces;
mod json_query;
mod json_write;
mod line_protocol;
mod remote_write;
