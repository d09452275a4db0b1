//! A client's configuration, by the keys of Kafka's own clients (`--command-config` of its tools).

use std::path::PathBuf;
use std::time::Duration;

use super::address::Address;
use super::error::ClientError;
use super::jaas::Login;
use super::secret::Secret;
use crate::format::properties::Properties;

/// How brokers are reached.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Where the first connections go.
    pub bootstrap: Vec<Address>,
    /// `client.id`.
    pub client_id: String,
    /// How the bytes are carried.
    pub transport: Transport,
    /// Who logs in; `None` without SASL.
    pub sasl: Option<Sasl>,
    /// `request.timeout.ms`: how long one answer may take.
    pub request_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`: how long a connection may take to come about, with TLS and login each.
    pub connect_timeout: Duration,
}

/// How the bytes are carried.
#[derive(Debug, Clone)]
pub enum Transport {
    /// As they are.
    Plain,
    /// Inside TLS.
    Tls(TlsConfig),
}

/// What TLS needs.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// Certificates that are trusted; `None` for those of the system.
    pub trust: Option<Pem>,
    /// Our certificate chain and key, for mutual TLS.
    pub identity: Option<(Pem, Pem)>,
    /// Whether the broker's name must stand in its certificate (`ssl.endpoint.identification.algorithm=https`).
    pub check_name: bool,
}

/// PEM text, or the file that holds it.
#[derive(Debug, Clone)]
pub enum Pem {
    /// Text in the configuration itself.
    Text(Secret),
    /// A file.
    File(PathBuf),
}

/// A SASL mechanism and who logs in by it.
#[derive(Debug, Clone)]
pub struct Sasl {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Who.
    pub login: Login,
}

/// A SASL mechanism that krescue speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// `PLAIN`.
    Plain,
    /// `SCRAM-SHA-256`.
    ScramSha256,
    /// `SCRAM-SHA-512`.
    ScramSha512,
}

impl Mechanism {
    /// Returns Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

const DEFAULT_REQUEST_TIMEOUT_MS: u64 = 30_000;
const DEFAULT_CONNECT_TIMEOUT_MS: u64 = 10_000;

impl ClientConfig {
    /// Returns the configuration that connects to `bootstrap` without security.
    pub fn plaintext(bootstrap: Vec<Address>) -> Self {
        Self {
            bootstrap,
            client_id: "krescue".to_owned(),
            transport: Transport::Plain,
            sasl: None,
            request_timeout: Duration::from_millis(DEFAULT_REQUEST_TIMEOUT_MS),
            connect_timeout: Duration::from_millis(DEFAULT_CONNECT_TIMEOUT_MS),
        }
    }

    /// Returns the configuration that `properties` describe, as Kafka's clients take them; keys of producers, consumers and
    /// other things are left alone.
    ///
    /// # Errors
    ///
    /// A value that Kafka would not take, or one that krescue does not support.
    pub fn of_properties(
        bootstrap: Vec<Address>,
        properties: &Properties,
    ) -> Result<Self, ClientError> {
        let keys = Keys(properties);
        let mut config = Self::plaintext(bootstrap);
        if let Some(id) = keys.text("client.id") {
            id.clone_into(&mut config.client_id);
        }
        if let Some(limit) = keys.millis("request.timeout.ms")? {
            config.request_timeout = limit;
        }
        if let Some(limit) = keys.millis("socket.connection.setup.timeout.ms")? {
            config.connect_timeout = limit;
        }
        let protocol = keys.text("security.protocol").unwrap_or("PLAINTEXT");
        let (tls, sasl) = match protocol.to_ascii_uppercase().as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => {
                let cause =
                    format!("\"{protocol}\" is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL");
                return Err(keys.wrong("security.protocol", cause));
            }
        };
        if tls {
            config.transport = Transport::Tls(keys.tls()?);
        }
        if sasl {
            config.sasl = Some(keys.sasl()?);
        }
        Ok(config)
    }
}

struct Keys<'a>(&'a Properties);

impl Keys<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key)?.trim();
        (!value.is_empty()).then_some(value)
    }

    fn wrong(&self, key: &str, cause: impl Into<String>) -> ClientError {
        let line = self.0.property(key).map(|property| property.line);
        ClientError::Config {
            key: line.map_or_else(|| key.to_owned(), |line| format!("{key} in line {line}")),
            cause: cause.into(),
        }
    }

    fn millis(&self, key: &str) -> Result<Option<Duration>, ClientError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let ms = text.parse::<u32>().ok().filter(|ms| *ms > 0);
        ms.map(|ms| Some(Duration::from_millis(u64::from(ms))))
            .ok_or_else(|| {
                self.wrong(
                    key,
                    format!("\"{text}\" is no number of milliseconds above 0"),
                )
            })
    }

    fn tls(&self) -> Result<TlsConfig, ClientError> {
        let trust = match self.text("ssl.truststore.certificates") {
            Some(text) => Some(Pem::Text(Secret::new(text))),
            None => self.store("ssl.truststore")?,
        };
        let identity = match (
            self.text("ssl.keystore.certificate.chain"),
            self.text("ssl.keystore.key"),
        ) {
            (Some(chain), Some(key)) => {
                Some((Pem::Text(Secret::new(chain)), Pem::Text(Secret::new(key))))
            }
            (None, None) => self.store("ssl.keystore")?.map(|file| (file.clone(), file)),
            (Some(_), None) => {
                return Err(self.wrong(
                    "ssl.keystore.key",
                    "missing beside ssl.keystore.certificate.chain",
                ));
            }
            (None, Some(_)) => {
                return Err(self.wrong(
                    "ssl.keystore.certificate.chain",
                    "missing beside ssl.keystore.key",
                ));
            }
        };
        // Set to nothing it turns the check off; unset it is https.
        let algorithm = self.0.get("ssl.endpoint.identification.algorithm");
        let check_name = match algorithm.map(str::trim) {
            None => true,
            Some("") => false,
            Some(name) if name.eq_ignore_ascii_case("https") => true,
            Some(name) => {
                let cause = format!("\"{name}\" is neither https nor empty");
                return Err(self.wrong("ssl.endpoint.identification.algorithm", cause));
            }
        };
        Ok(TlsConfig {
            trust,
            identity,
            check_name,
        })
    }

    /// Returns the PEM file of a store.
    fn store(&self, prefix: &str) -> Result<Option<Pem>, ClientError> {
        let location = format!("{prefix}.location");
        let Some(file) = self.text(&location) else {
            return Ok(None);
        };
        let kind = self.text(&format!("{prefix}.type")).unwrap_or("JKS");
        if !kind.eq_ignore_ascii_case("PEM") {
            let cause = format!(
                "{file} is a store of type {kind}, krescue reads PEM; {}",
                convert_line(prefix, file, kind)
            );
            return Err(self.wrong(&location, cause));
        }
        Ok(Some(Pem::File(PathBuf::from(file))))
    }

    fn sasl(&self) -> Result<Sasl, ClientError> {
        let name = self.text("sasl.mechanism").unwrap_or("GSSAPI");
        let mechanism = match name {
            "PLAIN" => Mechanism::Plain,
            "SCRAM-SHA-256" => Mechanism::ScramSha256,
            "SCRAM-SHA-512" => Mechanism::ScramSha512,
            _ => {
                let cause = format!(
                    "krescue speaks PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512, not {name}; Kafka's own tools do, with the same file: \
                     kafka-topics.sh --bootstrap-server HOST:PORT --command-config FILE --describe --under-replicated-partitions"
                );
                return Err(self.wrong("sasl.mechanism", cause));
            }
        };
        let Some(text) = self.text("sasl.jaas.config") else {
            return Err(self.wrong(
                "sasl.jaas.config",
                "missing; krescue reads no JAAS file of the JVM",
            ));
        };
        let login = Login::parse(text).map_err(|cause| self.wrong("sasl.jaas.config", cause))?;
        Ok(Sasl { mechanism, login })
    }
}

/// Returns the line that makes a PEM file of a Java store.
fn convert_line(prefix: &str, file: &str, kind: &str) -> String {
    if kind.eq_ignore_ascii_case("PKCS12") {
        let keys = if prefix.ends_with("truststore") {
            " -nokeys"
        } else {
            " -nodes"
        };
        return format!("openssl pkcs12 -in {file}{keys} -out store.pem makes one");
    }
    format!(
        "keytool -importkeystore -srckeystore {file} -destkeystore store.p12 -deststoretype PKCS12, then openssl pkcs12 -in store.p12 -out store.pem, make one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<ClientConfig, ClientError> {
        let properties = Properties::parse(text.as_bytes()).unwrap();
        ClientConfig::of_properties(Vec::new(), &properties)
    }

    #[test]
    fn keys_are_those_of_kafkas_clients() {
        let text = "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n\
            sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=\"a\" password=\"b;c\";\n\
            ssl.truststore.type=PEM\nssl.truststore.location=/t.pem\nssl.endpoint.identification.algorithm=\nrequest.timeout.ms=5000\n";
        let config = config(text).unwrap();
        let sasl = config.sasl.unwrap();
        assert_eq!(sasl.mechanism, Mechanism::ScramSha512);
        assert_eq!(sasl.login.password.expose(), "b;c");
        assert_eq!(config.request_timeout, Duration::from_secs(5));
        let Transport::Tls(tls) = config.transport else {
            panic!("TLS is on")
        };
        assert!(!tls.check_name && tls.identity.is_none());
        assert!(
            matches!(tls.trust, Some(Pem::File(file)) if file == std::path::Path::new("/t.pem"))
        );
    }

    #[test]
    fn what_is_not_supported_names_its_key_and_the_way_out() {
        let text = |error: ClientError| error.to_string();
        let jks = "security.protocol=SSL\nssl.truststore.location=/t.jks\n";
        let error = text(config(jks).unwrap_err());
        assert!(
            error.starts_with("ssl.truststore.location in line 2: "),
            "{error}"
        );
        assert!(error.contains("keytool"), "{error}");
        let error = text(config("security.protocol=SASL_PLAINTEXT\n").unwrap_err());
        assert!(
            error.contains("GSSAPI") && error.contains("kafka-topics.sh"),
            "{error}"
        );
        assert!(config("security.protocol=TLS\n").is_err());
        assert!(config("request.timeout.ms=0\n").is_err());
    }

    #[test]
    fn an_error_in_a_login_does_not_show_it() {
        let text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=M required username=\"a\" password=\"hunter2\n";
        let error = config(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}
