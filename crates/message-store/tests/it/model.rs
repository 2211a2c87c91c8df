//! The conformance suite compares stores with a model. The model itself must pass the suite too.

use message_store::conformance::{Json, Model};

message_store::conformance_suite!(async || Model::new(), Json::Bytes);
