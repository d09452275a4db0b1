//! One connection to one broker.
//!
//! One request is under way at a time: a broker takes no further request from a connection before it has answered the
//! last one, so more would only wait in its socket. What is asked in parallel is asked of several brokers.

use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::protocol::StrBytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_rustls::rustls;

use super::address::Address;
use super::api::Api;
use super::config::ClientConfig;
use super::error::{ClientError, KafkaError};
use super::frame::FrameReader;
use super::message::{decode_response, encode_request};
use super::sasl;
use super::transport::Stream;
use super::versions::Versions;

/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// The version of `ApiVersions` that is tried first; a broker that lacks it answers with version 0.
const API_VERSIONS: i16 = 3;

/// A connection over which requests can be sent.
pub(super) struct Connection {
    address: Address,
    client_id: String,
    limit: Duration,
    stream: Stream,
    reader: FrameReader,
    versions: Versions,
    correlation: i32,
    /// A request was sent whose answer was not taken: what comes next is unknown.
    broken: bool,
    /// Requests sent.
    sent: u64,
}

impl Connection {
    /// Connects, learns what the broker speaks and logs in.
    pub(super) async fn open(
        address: &Address,
        config: &ClientConfig,
        tls: Option<&Arc<rustls::ClientConfig>>,
    ) -> Result<Self, ClientError> {
        let limit = config.connect_timeout;
        let stream = timeout(limit, Stream::open(address, tls))
            .await
            .map_err(|_| ClientError::TimedOut {
                address: address.to_string(),
                what: "the connection",
                limit,
            })??;
        let mut this = Self {
            address: address.clone(),
            client_id: config.client_id.clone(),
            limit,
            stream,
            reader: FrameReader::new(),
            versions: Versions::default(),
            correlation: 0,
            broken: false,
            sent: 0,
        };
        this.versions = this.learn().await?;
        if let Some(sasl) = &config.sasl {
            sasl::log_in(&mut this, sasl).await?;
        }
        this.limit = config.request_timeout;
        Ok(this)
    }

    /// Returns the address.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Returns what the broker speaks.
    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Says whether nothing can be sent any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns how many requests were sent since the last call.
    pub(super) fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    async fn learn(&mut self) -> Result<Versions, ClientError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("krescue"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let frame = self.exchange(&request, API_VERSIONS).await?;
        // Whatever was asked, a broker that does not know the version answers in the first one, with this code.
        let code = frame.get(4..6).and_then(|code| code.first_chunk());
        let unsupported = code.map(|code| i16::from_be_bytes(*code)) == Some(35);
        let response = if unsupported {
            let request = ApiVersionsRequest::default();
            self.send(&request, 0).await?
        } else {
            self.decode::<ApiVersionsRequest>(&frame, API_VERSIONS)?
        };
        match KafkaError::of(response.error_code) {
            None => Ok(Versions::of(&response)),
            Some(code) => Err(ClientError::Refused {
                what: format!("{} tells no versions", self.address),
                code,
                message: None,
            }),
        }
    }

    /// Sends a request in the highest version that both sides speak; `build` makes it for that version.
    pub(super) async fn ask<A: Api>(
        &mut self,
        build: impl FnOnce(i16) -> A,
    ) -> Result<(A::Response, i16), ClientError> {
        let Some(version) = self.versions.highest::<A>() else {
            let theirs = self.versions.of_api::<A>();
            let range = |(min, max)| format!("{min} to {max}");
            return Err(ClientError::Unsupported {
                address: self.address.to_string(),
                what: A::NAME,
                theirs: theirs.map_or_else(|| "none".to_owned(), range),
                ours: range((A::VERSIONS.min, A::VERSIONS.max.min(A::MOST))),
            });
        };
        let response = self.send(&build(version), version).await?;
        Ok((response, version))
    }

    /// Sends a request of `version` and waits for its response.
    pub(super) async fn send<A: Api>(
        &mut self,
        request: &A,
        version: i16,
    ) -> Result<A::Response, ClientError> {
        let frame = self.exchange(request, version).await?;
        self.decode::<A>(&frame, version)
    }

    fn decode<A: Api>(&mut self, frame: &[u8], version: i16) -> Result<A::Response, ClientError> {
        let decoded = decode_response::<A>(frame, version, self.correlation);
        decoded.map_err(|error| {
            self.broken = true;
            ClientError::Malformed {
                address: self.address.to_string(),
                what: A::NAME,
                cause: error.to_string(),
            }
        })
    }

    /// Sends a request and returns the frame that answers it.
    async fn exchange<A: Api>(
        &mut self,
        request: &A,
        version: i16,
    ) -> Result<Vec<u8>, ClientError> {
        self.correlation = self.correlation.wrapping_add(1);
        let bytes = encode_request(request, version, self.correlation, &self.client_id);
        let bytes = bytes.map_err(|cause| ClientError::Malformed {
            address: self.address.to_string(),
            what: A::NAME,
            cause,
        })?;
        self.sent += 1;
        // Stays set if this future is dropped half way.
        self.broken = true;
        let limit = self.limit;
        let frame = timeout(limit, self.round_trip(&bytes)).await;
        let frame = frame.map_err(|_| ClientError::TimedOut {
            address: self.address.to_string(),
            what: A::NAME,
            limit,
        })??;
        self.broken = false;
        Ok(frame)
    }

    async fn round_trip(&mut self, bytes: &[u8]) -> Result<Vec<u8>, ClientError> {
        let address = self.address.to_string();
        let broke = |source| ClientError::Broken {
            address: address.clone(),
            source,
        };
        self.stream.write_all(bytes).await.map_err(broke)?;
        self.stream.flush().await.map_err(broke)?;
        let mut buffer = vec![0; READ];
        loop {
            let frame = self.reader.next_frame();
            let frame = frame.map_err(|source| ClientError::NotKafka {
                address: address.clone(),
                source,
            })?;
            if let Some(frame) = frame {
                return Ok(frame);
            }
            let count = self.stream.read(&mut buffer).await.map_err(broke)?;
            if count == 0 {
                let closed = std::io::ErrorKind::UnexpectedEof;
                return Err(broke(std::io::Error::new(closed, "it was closed there")));
            }
            self.reader.feed(buffer.get(..count).unwrap_or_default());
        }
    }
}
