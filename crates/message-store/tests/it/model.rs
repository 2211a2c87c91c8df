//! The model passes the conformance suite, whose reference it is.

use message_store::conformance::{Json, Model};

message_store::conformance_suite!(async || Model::new(), Json::Bytes);
