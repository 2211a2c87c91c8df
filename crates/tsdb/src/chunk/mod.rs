//! How samples are compressed. Pure: bytes in, bytes out.
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
//! Numbers in headers are LEB128 varints, zigzag where they have a sign. Packed integers stand in
//! groups of eight: `width` bytes a group, the lowest bit first. After the last frame of a block
//! come [`SLACK`] zero bytes, so that a group can be read in whole words.

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod decimal;
pub(crate) mod frame;
pub(crate) mod integers;
pub(crate) mod reader;
pub(crate) mod stats;
pub(crate) mod timestamps;
pub(crate) mod values;

/// The most samples of a frame.
pub(crate) const FRAME: usize = 128;

/// Zero bytes after the last frame.
pub(crate) const SLACK: usize = 8;

/// The bytes are not what an encoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;
