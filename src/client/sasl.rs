//! The login over a new connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::config::{Mechanism, Sasl};
use super::connection::Connection;
use super::error::{ClientError, KafkaError};
use super::scram::{Hash, Scram};

const NONCE_LEN: usize = 24;

/// Logs in.
pub(super) async fn log_in(connection: &mut Connection, sasl: &Sasl) -> Result<(), ClientError> {
    let address = connection.address().to_string();
    let failed = |cause: String| ClientError::Login {
        address: address.clone(),
        mechanism: sasl.mechanism.name().to_owned(),
        cause,
    };
    let request = |_| {
        SaslHandshakeRequest::default()
            .with_mechanism(StrBytes::from_static_str(sasl.mechanism.name()))
    };
    let (response, _) = connection.ask(request).await?;
    if let Some(code) = KafkaError::of(response.error_code) {
        let offered: Vec<_> = response
            .mechanisms
            .iter()
            .map(ToString::to_string)
            .collect();
        return Err(failed(format!("{code}; it offers {}", offered.join(", "))));
    }
    let hash = match sasl.mechanism {
        Mechanism::Plain => {
            let login = &sasl.login;
            let words = ["", &login.username, login.password.expose()];
            let token = words.join("\0").into_bytes();
            return authenticate(connection, token, &failed).await.map(|_| ());
        }
        Mechanism::ScramSha256 => Hash::Sha256,
        Mechanism::ScramSha512 => Hash::Sha512,
    };
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new()
        .fill(&mut nonce)
        .map_err(|_| failed("the system gives no random bytes".to_owned()))?;
    let scram = Scram::new(hash, &sasl.login, STANDARD_NO_PAD.encode(nonce));
    let first = authenticate(connection, scram.first().into_bytes(), &failed).await?;
    let first = String::from_utf8(first).map_err(|_| failed("no text came back".to_owned()))?;
    let (last, proof) = scram.last(&first).map_err(&failed)?;
    let answer = authenticate(connection, last.into_bytes(), &failed).await?;
    proof
        .check(&String::from_utf8_lossy(&answer))
        .map_err(&failed)
}

/// Sends one token and returns the broker's.
async fn authenticate(
    connection: &mut Connection,
    token: Vec<u8>,
    failed: &impl Fn(String) -> ClientError,
) -> Result<Vec<u8>, ClientError> {
    let request = |_| SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(token));
    let (response, _) = connection.ask(request).await?;
    match KafkaError::of(response.error_code) {
        None => Ok(response.auth_bytes.to_vec()),
        Some(code) => {
            let message = response.error_message.map(|text| text.to_string());
            Err(failed(message.unwrap_or_else(|| code.to_string())))
        }
    }
}
