//! SCRAM (RFC 5802, RFC 7677) as Kafka's brokers speak it: without channel binding, names and passwords taken as they are.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

use super::jaas::Login;

/// The fewest rounds that Kafka's clients accept.
const MIN_ITERATIONS: u32 = 4096;
/// More would keep this host busy for a minute: no broker means that.
const MAX_ITERATIONS: u32 = 10_000_000;

/// The hash of the mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }
}

/// The client's side of one exchange, before the server has answered.
pub(super) struct Scram<'a> {
    hash: Hash,
    login: &'a Login,
    nonce: String,
}

/// What the server must prove at the end: that it can sign this with the key that it holds.
pub(super) struct ServerProof {
    key: hmac::Key,
    message: String,
}

impl<'a> Scram<'a> {
    /// Begins an exchange; `nonce` is printable, without commas, and new each time.
    pub(super) fn new(hash: Hash, login: &'a Login, nonce: String) -> Self {
        Self { hash, login, nonce }
    }

    /// Returns the client's first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    fn bare(&self) -> String {
        let name = self.login.username.replace('=', "=3D").replace(',', "=2C");
        let token = if self.login.token {
            ",tokenauth=true"
        } else {
            ""
        };
        format!("n={name},r={}{token}", self.nonce)
    }

    /// Returns the client's last message and what the server must answer to it.
    ///
    /// # Errors
    ///
    /// What is wrong with the server's first message.
    pub(super) fn last(&self, server_first: &str) -> Result<(String, ServerProof), String> {
        let field = |name: &str| {
            let mut fields = server_first.split(',');
            fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        if let Some(error) = field("e") {
            return Err(error.to_owned());
        }
        let nonce = field("r").ok_or("the broker sent no nonce")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the broker's nonce does not go on from ours".to_owned());
        }
        let salt = field("s").and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or("the broker sent no salt")?;
        let iterations: u32 = field("i")
            .and_then(|text| text.parse().ok())
            .ok_or("the broker sent no iteration count")?;
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            return Err(format!("the broker asks for {iterations} iterations"));
        }
        let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let mut salted = vec![0; self.hash.digest().output_len()];
        let password = self.login.password.expose().as_bytes();
        pbkdf2::derive(self.hash.pbkdf2(), iterations, &salt, password, &mut salted);
        let sign =
            |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(self.hash.hmac(), key), text);
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest(), client_key.as_ref());
        let without_proof = format!("c=biws,r={nonce}");
        let message = format!("{},{server_first},{without_proof}", self.bare());
        let signature = sign(stored_key.as_ref(), message.as_bytes());
        let pairs = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = pairs.map(|(key, signature)| key ^ signature).collect();
        let server_key = sign(&salted, b"Server Key");
        let key = hmac::Key::new(self.hash.hmac(), server_key.as_ref());
        Ok((
            format!("{without_proof},p={}", STANDARD.encode(proof)),
            ServerProof { key, message },
        ))
    }
}

impl ServerProof {
    /// Checks the server's last message: it knows the password too.
    ///
    /// # Errors
    ///
    /// The server's own error, or that it does not know it.
    pub(super) fn check(&self, server_last: &str) -> Result<(), String> {
        let first = server_last.split(',').next().unwrap_or_default();
        if let Some(error) = first.strip_prefix("e=") {
            return Err(error.to_owned());
        }
        let proof = first
            .strip_prefix("v=")
            .and_then(|text| STANDARD.decode(text).ok());
        proof
            .and_then(|proof| hmac::verify(&self.key, self.message.as_bytes(), &proof).ok())
            .ok_or_else(|| "the broker does not prove that it knows the password".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::secret::Secret;

    fn login() -> Login {
        Login {
            username: "user".to_owned(),
            password: Secret::new("pencil"),
            token: false,
        }
    }

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_rfc_comes_out() {
        let login = login();
        let scram = Scram::new(Hash::Sha256, &login, "rOprNGfwEbeRWgbNEkqO".to_owned());
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (last, proof) = scram.last(server).unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(
            proof.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
            Ok(())
        );
        assert!(
            proof
                .check("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
                .is_err()
        );
        assert_eq!(
            proof.check("e=invalid-proof"),
            Err("invalid-proof".to_owned())
        );
    }

    #[test]
    fn a_server_that_cheats_is_refused() {
        let login = login();
        let scram = Scram::new(Hash::Sha512, &login, "abc".to_owned());
        for server in [
            "",
            "r=abc,s=AAAA,i=4096",
            "r=xyz123,s=AAAA,i=4096",
            "r=abc1,s=AAAA,i=1",
            "r=abc1,s=AAAA,i=4000000000",
            "r=abc1,i=4096",
            "e=unknown-user",
        ] {
            assert!(scram.last(server).is_err(), "{server}");
        }
    }

    #[test]
    fn separators_in_a_name_are_escaped() {
        let login = Login {
            username: "a=b,c".to_owned(),
            token: true,
            ..login()
        };
        let scram = Scram::new(Hash::Sha256, &login, "n".to_owned());
        assert_eq!(scram.first(), "n,,n=a=3Db=2Cc,r=n,tokenauth=true");
    }
}
