//! What can go wrong between krescue and a broker.

use std::io;
use std::time::Duration;

use kafka_protocol::ResponseError;

use super::frame::FrameError;

/// An error of the client; says which broker, what was asked and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No connection came about.
    #[error("cannot connect to {address}")]
    Connect {
        /// `HOST:PORT`.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to {address} broke")]
    Broken {
        /// `HOST:PORT`.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// No answer in time.
    #[error("{address} did not answer {what} within {} s", limit.as_secs())]
    TimedOut {
        /// `HOST:PORT`.
        address: String,
        /// What was asked.
        what: &'static str,
        /// How long was waited.
        limit: Duration,
    },
    /// It speaks, but not Kafka: the port of something else, or a listener with another security.
    #[error("{address} answers no Kafka")]
    NotKafka {
        /// `HOST:PORT`.
        address: String,
        /// What came instead.
        source: FrameError,
    },
    /// A response that does not hold what it announces.
    #[error("{address} answered {what} with a message that cannot be read: {cause}")]
    Malformed {
        /// `HOST:PORT`.
        address: String,
        /// What was asked.
        what: &'static str,
        /// What is wrong.
        cause: String,
    },
    /// The broker has no version of an API that krescue speaks.
    #[error("{address} has no {what} that krescue knows (it has {theirs}, krescue {ours})")]
    Unsupported {
        /// `HOST:PORT`.
        address: String,
        /// The API.
        what: &'static str,
        /// The broker's versions, `none` if it lacks the API.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// The broker refused what was asked.
    #[error("{what}: {code}{}", message.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused {
        /// What was asked, and of what.
        what: String,
        /// Kafka's error.
        code: KafkaError,
        /// What the broker says beside it.
        message: Option<String>,
    },
    /// The login failed.
    #[error("{address} does not let us in by {mechanism}: {cause}")]
    Login {
        /// `HOST:PORT`.
        address: String,
        /// The SASL mechanism.
        mechanism: String,
        /// Why.
        cause: String,
    },
    /// TLS failed.
    #[error("TLS with {address} failed")]
    Tls {
        /// `HOST:PORT`.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The client's configuration cannot be used.
    #[error("{key}: {cause}")]
    Config {
        /// The key.
        key: String,
        /// Why not; never the value of a secret.
        cause: String,
    },
    /// No broker of a list could be reached.
    #[error("no broker answers: {}", tried.join("; "))]
    NoBroker {
        /// What was tried and what came of it, a text each.
        tried: Vec<String>,
    },
    /// A broker that the metadata does not name.
    #[error("broker {0} is not among the living ones")]
    UnknownBroker(i32),
    /// Nothing is tried before the back-off is over.
    #[error("{address} failed {} ms ago and is not tried again yet: {cause}", ago.as_millis())]
    BackingOff {
        /// `HOST:PORT`.
        address: String,
        /// How long ago.
        ago: Duration,
        /// What failed then.
        cause: String,
    },
}

/// A numbered error of Kafka's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct KafkaError(pub i16);

impl KafkaError {
    /// `UNKNOWN_TOPIC_OR_PARTITION`.
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    /// `LEADER_NOT_AVAILABLE`.
    pub const LEADER_NOT_AVAILABLE: Self = Self(5);

    /// `SECURITY_DISABLED`: there is no authorizer.
    pub const SECURITY_DISABLED: Self = Self(54);
    /// `GROUP_ID_NOT_FOUND`.
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);

    /// Returns the error of `code`; `None` for 0.
    pub fn of(code: i16) -> Option<Self> {
        (code != 0).then_some(Self(code))
    }

    /// Says whether Kafka's own clients try again after it.
    pub fn is_retriable(self) -> bool {
        ResponseError::try_from_code(self.0).is_some_and(|error| error.is_retriable())
    }
}

impl std::fmt::Display for KafkaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match ResponseError::try_from_code(self.0) {
            // The name is Kafka's in another spelling: NotLeaderOrFollower for NOT_LEADER_OR_FOLLOWER.
            Some(error) => {
                for (at, c) in format!("{error:?}").chars().enumerate() {
                    if c.is_uppercase() && at > 0 {
                        write!(f, "_")?;
                    }
                    write!(f, "{}", c.to_ascii_uppercase())?;
                }
                write!(f, " ({})", self.0)
            }
            None => write!(f, "error {}", self.0),
        }
    }
}

impl ClientError {
    /// Says whether the same question may succeed later or elsewhere.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Broken { .. }
            | Self::TimedOut { .. }
            | Self::UnknownBroker(_)
            | Self::BackingOff { .. } => true,
            Self::Refused { code, .. } => code.is_retriable(),
            _ => false,
        }
    }

    /// Returns the error with its sources in one line.
    pub fn in_one_line(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(error) = next {
            let cause = error.to_string();
            if !text.ends_with(&cause) {
                text = format!("{text}: {cause}");
            }
            next = error.source();
        }
        text
    }
}
