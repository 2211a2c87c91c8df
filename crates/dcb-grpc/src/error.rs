use dcb_core::Error;
use prost::Message as _;
use store_fault::Fault;
use tonic::{Code, Status};

use crate::proto::ErrorResponse;
use crate::proto::error_response::ErrorType;

/// A server could not be set up, or stopped because of a fault. The source says more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The certificate or its key can't be used. Give both as PEM.
    #[error("the certificate or its key can't be used: {0}")]
    Tls(#[source] tonic::transport::Error),
    /// The listener failed. Check the address, then start again.
    #[error("the listener failed: {0}")]
    Listener(#[source] tonic::transport::Error),
}

/// The status of an error, with the details that UmaDB's clients read.
pub(crate) fn refused(error_type: ErrorType, message: impl Into<String>) -> Status {
    let code = match error_type {
        ErrorType::Authentication => Code::Unauthenticated,
        ErrorType::InvalidArgument | ErrorType::Serialization => Code::InvalidArgument,
        ErrorType::Integrity => Code::FailedPrecondition,
        ErrorType::Corruption => Code::DataLoss,
        ErrorType::Io | ErrorType::Internal => Code::Internal,
    };
    detailed(code, error_type, message)
}

/// The status of a call beyond a limit.
pub(crate) fn exhausted(message: impl Into<String>) -> Status {
    detailed(Code::ResourceExhausted, ErrorType::Internal, message)
}

fn detailed(code: Code, error_type: ErrorType, message: impl Into<String>) -> Status {
    let message = message.into();
    let details = ErrorResponse {
        message: message.clone(),
        error_type: error_type.into(),
    };
    Status::with_details(code, message, details.encode_to_vec().into())
}

/// The status of a store's error.
pub(crate) fn status(error: &Error) -> Status {
    let error_type = match error {
        Error::Invalid { .. } => ErrorType::InvalidArgument,
        Error::Conflict { .. }
        | Error::AfterBeyondHead { .. }
        | Error::DuplicateId { .. }
        | Error::AlreadyTracked { .. } => ErrorType::Integrity,
        Error::Fault(Fault::NotADatabase(_)) => ErrorType::Corruption,
        Error::Fault(fault) if fault.is_transient() => ErrorType::Io,
        _ => ErrorType::Internal,
    };
    refused(error_type, error.to_string())
}
