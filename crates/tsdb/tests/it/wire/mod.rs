//! The wire formats, tested with tables of valid and invalid input and with random damage.

mod aliases;
mod exposition;
mod forwarder;
#[cfg(feature = "promql")]
mod hostile;
mod json_numbers;
mod json_pieces;
mod json_query;
mod json_write;
mod line_protocol;
mod log_forwarder;
#[cfg(feature = "otlp")]
mod otlp;
mod remote_write;
mod remote_write_v2;
