//! A client of Kafka's protocol: a request in, a response out.
//!
//! The messages are those of the crate `kafka-protocol`; frames, versions, TLS, login, routing and retries are here. A
//! response is walked ([`Shape`]) before it is built: what a peer announces is never believed.
//! Brokers from 2.8 on are understood; each API is asked in the highest version that both sides speak.

mod address;
mod admin;
mod api;
mod cluster;
mod config;
mod connection;
mod error;
mod frame;
mod jaas;
mod message;
mod node;
mod sasl;
mod scram;
mod secret;
mod shape;
mod tls;
mod transport;
mod versions;

pub use address::Address;
pub use admin::*;
pub use api::{Api, decode_any};
pub use cluster::{BrokerNode, Client, Whom};
pub use config::{ClientConfig, Mechanism, Pem, Sasl, TlsConfig, Transport};
pub use error::{ClientError, KafkaError};
pub use frame::{FrameError, FrameReader, MAX_FRAME};
pub use jaas::Login;
pub use message::{MessageError, decode_response};
pub use secret::Secret;
pub use shape::Shape;
pub use versions::Versions;
