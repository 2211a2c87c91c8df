//! The model passes the suite that it is the measure of.

use message_store::conformance::{Json, Model};

message_store::conformance_suite!(async || Model::new(), Json::Bytes);
