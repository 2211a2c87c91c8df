//! A stand-in.
/// Memory.
#[derive(Debug)]
pub struct MemoryStore;
