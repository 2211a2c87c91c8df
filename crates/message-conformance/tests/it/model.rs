//! The conformance suite compares stores with a model. The model itself must pass the suite too.

use message_conformance::{Json, Model};

message_conformance::suite!(async || Model::new(), Json::Bytes);
