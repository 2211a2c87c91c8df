//! The tests that every backend passes.
