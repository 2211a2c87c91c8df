//! Compression of samples, as pure functions over bytes.
//!
//! Invariant: each value comes back bit for bit. The encoder decodes every decimal again. If a bit
//! differs, it stores the bits of the value instead. `tests/it/codecs.rs` fails without this check.
//!
//! A block is a sequence of frames of up to 128 samples. A frame:
//!
//! ```text
//! ┌──────┬────────────┬───────────────────────┬──────────────────────────┐
//! │ kind │ count (u8) │ timestamps            │ values                   │
//! │ 1 B  │ if short   │ see `timestamps`      │ see `values`             │
//! └──────┴────────────┴───────────────────────┴──────────────────────────┘
//! kind: bits 0-2 the codec of the values, bits 3-4 that of the timestamps,
//!       bit 5 "has exceptions", bit 6 "short: the count follows"
//! ```
//!
//! Numbers in headers are LEB128 varints, zigzag-encoded if signed. Packed integers come in groups
//! of eight: `width` bytes per group, lowest bit first. [`SLACK`] zero bytes follow the last frame
//! of a block, so that the decoder can read whole words.

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod decimal;
pub(crate) mod frame;
pub(crate) mod integers;
pub(crate) mod reader;
pub(crate) mod stats;
pub(crate) mod timestamps;
pub(crate) mod values;

/// Maximum number of samples in a frame.
pub(crate) const FRAME: usize = 128;

/// The number of zero bytes after the last frame.
pub(crate) const SLACK: usize = 8;

/// The error for bytes that no encoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;
