//! A request as a frame, a frame as a response.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable as _, Encodable as _, HeaderVersion, StrBytes};

use super::api::Api;
use crate::format::{Cursor, FormatError};

/// Why a frame is no response to what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It answers another request.
    #[error("it answers request {got}, not {asked}")]
    Correlation {
        /// The id that came.
        got: i32,
        /// The id that was sent.
        asked: i32,
    },
    /// Its header or its message does not fit its bytes.
    #[error(transparent)]
    Layout(#[from] FormatError),
    /// Its fields hold what they may not, such as a text that is not UTF-8.
    #[error("{0}")]
    Value(String),
}

/// Encodes a request of `version` with its length before it.
///
/// # Errors
///
/// A field that this version does not have: a defect of krescue.
pub(super) fn encode_request<A: Api>(
    request: &A,
    version: i16,
    correlation: i32,
    client_id: &str,
) -> Result<Vec<u8>, String> {
    let header = RequestHeader::default()
        .with_request_api_key(A::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_string(client_id.to_owned())));
    let mut body = BytesMut::new();
    header
        .encode(&mut body, A::header_version(version))
        .and_then(|()| request.encode(&mut body, version))
        .map_err(|error| error.to_string())?;
    let length = i32::try_from(body.len()).map_err(|_| "the request is too long".to_owned())?;
    Ok([&length.to_be_bytes()[..], &body].concat())
}

/// Decodes the response to a request of `version`.
///
/// # Errors
///
/// A frame that is not that; no memory was taken for what it announces but does not hold.
pub fn decode_response<A: Api>(
    frame: &[u8],
    version: i16,
    correlation: i32,
) -> Result<A::Response, MessageError> {
    if version > A::MOST {
        let text = format!("version {version} is not asked for");
        return Err(MessageError::Value(text));
    }
    let header = <A::Response as HeaderVersion>::header_version(version);
    let mut cursor = Cursor::new(frame);
    let got = cursor.i32()?;
    if got != correlation {
        return Err(MessageError::Correlation {
            got,
            asked: correlation,
        });
    }
    if header >= 1 {
        for _ in 0..cursor.unsigned_varint()? {
            cursor.unsigned_varint()?;
            let size = cursor.unsigned_varint()?;
            cursor.bytes(usize::try_from(size).unwrap_or(usize::MAX))?;
        }
    }
    A::SHAPE.check(cursor.rest(), version)?;
    let value = |error: &dyn std::fmt::Display| MessageError::Value(error.to_string());
    let mut bytes = Bytes::copy_from_slice(frame);
    ResponseHeader::decode(&mut bytes, header).map_err(|error| value(&error))?;
    A::Response::decode(&mut bytes, version).map_err(|error| value(&error))
}
