use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tonic::Status;

use crate::error::refused;
use crate::proto::error_response::ErrorType;

/// The key that calls must bring. Only its hash is kept: hashes have one length, so the time of a
/// comparison tells nothing about the key.
#[derive(Clone)]
pub(crate) struct Key([u8; 32]);

impl Key {
    pub(crate) fn new(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Checks the header `authorization: Bearer KEY`.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Status> {
        let header = headers.get(AUTHORIZATION);
        let given = header.and_then(|header| header.as_bytes().strip_prefix(b"Bearer "));
        let Some(given) = given else {
            let missing = "the call has no key: send the header authorization: Bearer KEY";
            return Err(refused(ErrorType::Authentication, missing));
        };
        let given: [u8; 32] = Sha256::digest(given).into();
        match bool::from(self.0.ct_eq(&given)) {
            true => Ok(()),
            false => Err(refused(ErrorType::Authentication, "the key is wrong")),
        }
    }
}
