//! `HOST:PORT`.

use std::fmt;

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// Parses `HOST:PORT`, `[IPV6]:PORT`, also with `PROTOCOL://` before it.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let error = || format!("\"{text}\" is not of the form HOST:PORT");
        let bare = text.trim();
        let bare = bare.split_once("://").map_or(bare, |(_, rest)| rest);
        let (host, port) = bare.rsplit_once(':').ok_or_else(error)?;
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = inner.unwrap_or(host);
        let port: u16 = port.parse().map_err(|_| error())?;
        let clean = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '/');
        if !clean || port == 0 || (inner.is_none() && host.contains(':')) {
            return Err(error());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }

    /// Parses a list, apart by commas.
    ///
    /// # Errors
    ///
    /// An entry that is none, or no entry at all.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let entries = text.split(',').map(str::trim);
        let list: Vec<_> = entries
            .filter(|entry| !entry.is_empty())
            .map(Self::parse)
            .collect::<Result<_, _>>()?;
        if list.is_empty() {
            return Err("no HOST:PORT in it".to_owned());
        }
        Ok(list)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_kafka_writes_them() {
        for text in ["kafka-1:9092", "[::1]:9092", "10.0.0.1:1"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Address::parse("SASL_SSL://b:9093").unwrap().to_string(),
            "b:9093"
        );
        for text in [
            "",
            "host",
            "host:",
            ":9092",
            "host:0",
            "host:70000",
            "::1:9092",
            "a b:1",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
        assert_eq!(Address::parse_list("a:1, b:2,").unwrap().len(), 2);
        assert!(Address::parse_list(" , ").is_err());
    }
}
