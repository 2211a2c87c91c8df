//! The messages, the client and the service of `proto/dcb.proto`.
//!
//! To generate the code again after a change of that file:
//!
//! ```text
//! DCB_GRPC_GENERATE=1 cargo test -p dcb-grpc generated_code
//! ```

#![allow(
    clippy::all,
    missing_docs,
    unused_qualifications,
    reason = "the code is generated"
)]

include!("generated.rs");
