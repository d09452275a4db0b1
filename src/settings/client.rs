//! How a broker is reached: the listeners of its configuration, and a client's own configuration.

use std::path::Path;

use super::{SettingsError, read_properties};
use crate::format::properties::Properties;

/// A listener of a broker for its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerListener {
    /// Its name.
    pub name: String,
    /// `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
    pub protocol: String,
    /// Where clients are told to connect, then where it is bound, as `HOST:PORT`.
    pub addresses: Vec<String>,
}

/// Reads a client's configuration (`--command-config`).
///
/// # Errors
///
/// A file that is missing, cannot be read, or that Java would not load.
pub fn read_client_properties(path: &Path) -> Result<Properties, SettingsError> {
    read_properties(path)?.ok_or_else(|| SettingsError::Read {
        path: path.to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// Returns the listeners of the broker with the configuration `path`; those for controllers are left out.
///
/// # Errors
///
/// As for [`read_client_properties`].
pub fn broker_listeners(path: &Path) -> Result<Vec<BrokerListener>, SettingsError> {
    Ok(listeners(&read_client_properties(path)?))
}

fn listeners(properties: &Properties) -> Vec<BrokerListener> {
    let list = |key: &str| {
        let text = properties.get(key).unwrap_or_default();
        let entries = text.split(',').map(str::trim);
        entries
            .filter(|entry| !entry.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let named = |entry: &str| {
        let (name, address) = entry.split_once("://")?;
        Some((name.to_ascii_uppercase(), address.to_owned()))
    };
    let controllers: Vec<_> = list("controller.listener.names")
        .iter()
        .map(|name| name.to_ascii_uppercase())
        .collect();
    let protocols = list("listener.security.protocol.map");
    let protocol = |name: &str| {
        let mut pairs = protocols.iter().filter_map(|pair| pair.split_once(':'));
        let found = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
        found
            .map_or(name, |(_, protocol)| protocol.trim())
            .to_ascii_uppercase()
    };
    let advertised: Vec<_> = list("advertised.listeners")
        .iter()
        .filter_map(|entry| named(entry))
        .collect();
    let mut bound = list("listeners");
    if bound.is_empty() {
        // Kafka's default.
        bound.push("PLAINTEXT://:9092".to_owned());
    }
    let bound = bound.iter().filter_map(|entry| named(entry));
    bound
        .filter(|(name, _)| !controllers.contains(name))
        .map(|(name, address)| {
            let told = advertised.iter().filter(|(other, _)| *other == name);
            let mut addresses: Vec<_> = told.map(|(_, address)| address.clone()).collect();
            let near = reachable(&address);
            if !addresses.contains(&near) {
                addresses.push(near);
            }
            BrokerListener {
                protocol: protocol(&name),
                name,
                addresses,
            }
        })
        .collect()
}

/// Returns where a listener that is bound to `address` is reached from its own host.
fn reachable(address: &str) -> String {
    match address.rsplit_once(':') {
        Some(("" | "0.0.0.0", port)) => format!("127.0.0.1:{port}"),
        Some(("[::]", port)) => format!("[::1]:{port}"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String, Vec<String>)> {
        let properties = Properties::parse(text.as_bytes()).unwrap();
        let all = listeners(&properties).into_iter();
        all.map(|listener| (listener.name, listener.protocol, listener.addresses))
            .collect()
    }

    fn one(name: &str, protocol: &str, addresses: &[&str]) -> (String, String, Vec<String>) {
        let addresses = addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect();
        (name.to_owned(), protocol.to_owned(), addresses)
    }

    #[test]
    fn listeners_for_clients_are_found() {
        assert_eq!(of(""), [one("PLAINTEXT", "PLAINTEXT", &["127.0.0.1:9092"])]);
        let text = "listeners=IN://0.0.0.0:9092,OUT://:9093,CTL://:9094\ncontroller.listener.names=CTL\n\
            advertised.listeners=IN://kafka-1:9092\nlistener.security.protocol.map=IN:PLAINTEXT, OUT:SASL_SSL,CTL:PLAINTEXT\n";
        assert_eq!(
            of(text),
            [
                one("IN", "PLAINTEXT", &["kafka-1:9092", "127.0.0.1:9092"]),
                one("OUT", "SASL_SSL", &["127.0.0.1:9093"]),
            ]
        );
    }
}
