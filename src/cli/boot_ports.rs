//! The ports that a broker will bind, and the controllers that it will ask.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use crate::observe::listening_here;
use crate::plan::preflight::{ControllerFacts, PortFacts};
use crate::settings::BrokerConfig;

/// How long one address of a controller is given to answer; all of it twice as long.
const ANSWER: Duration = Duration::from_secs(1);

/// What is done about ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// Each is bound for a moment, and each controller is asked for a connection: a person asked for it.
    Try,
    /// Who listens is looked up, nothing is bound and nobody is asked: a broker that starts at the same moment would die of
    /// a bound port after its whole recovery.
    Look,
    /// They are left alone: the broker has them, or nobody asked.
    Leave,
}

/// Says whether `process.roles` names a role.
pub(super) fn has_role(broker: &BrokerConfig, role: &str) -> bool {
    let roles = broker.process_roles.as_deref().unwrap_or_default();
    roles.split(',').any(|of| of.trim() == role)
}

/// A listener that a broker opens.
struct Listener<'a> {
    /// As the configuration names it.
    text: &'a str,
    /// `HOST:PORT`.
    address: &'a str,
    is_controller: bool,
}

/// Returns the listeners that the broker will open; none where its configuration is not known.
fn listeners_of(broker: &BrokerConfig) -> Vec<Listener<'_>> {
    if broker.path.is_none() {
        return Vec::new();
    }
    let named = broker.properties.get("listeners");
    let named = named.map_or("PLAINTEXT://:9092", String::as_str);
    let of_controller = broker
        .properties
        .get("controller.listener.names")
        .map_or("", String::as_str);
    let all = named.split(',').map(str::trim);
    let all = all.filter_map(|text| {
        let (name, address) = text.split_once("://")?;
        let is_controller = of_controller.split(',').any(|of| of.trim() == name);
        let is_bound = if is_controller {
            has_role(broker, "controller")
        } else {
            !has_role(broker, "controller") || has_role(broker, "broker")
        };
        is_bound.then_some(Listener {
            text,
            address,
            is_controller,
        })
    });
    all.collect()
}

/// Looks at each port that the broker will bind.
pub(super) fn listeners(broker: &BrokerConfig, ports: Ports) -> Vec<PortFacts> {
    let taken = match ports {
        Ports::Leave => return Vec::new(),
        Ports::Try => Vec::new(),
        Ports::Look => listening_here(Path::new("/proc")),
    };
    let all = listeners_of(broker).into_iter();
    all.map(|listener| PortFacts {
        listener: listener.text.to_owned(),
        is_controller: listener.is_controller,
        refused: match ports {
            Ports::Look => is_taken(listener.address, &taken),
            _ => refused(listener.address),
        },
    })
    .collect()
}

/// Returns the ports at which clients find the broker once it is up.
pub(crate) fn client_ports(broker: &BrokerConfig) -> Vec<u16> {
    let all = listeners_of(broker).into_iter();
    let port = |listener: Listener<'_>| listener.address.rsplit_once(':')?.1.parse().ok();
    all.filter(|listener| !listener.is_controller)
        .filter_map(port)
        .collect()
}

/// Returns host and port of an address; names are not resolved.
fn parse(address: &str) -> Option<(IpAddr, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let ip = match host.trim_matches(['[', ']']) {
        "" => IpAddr::from([0, 0, 0, 0]),
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        host => host.parse().ok()?,
    };
    Some((ip, port.parse().ok()?))
}

/// Returns why an address cannot be bound; names are not resolved.
fn refused(address: &str) -> Option<String> {
    let error = TcpListener::bind(parse(address)?).err()?;
    Some(error.to_string())
}

/// Says that somebody listens where an address would be bound.
fn is_taken(address: &str, taken: &[(IpAddr, u16)]) -> Option<String> {
    let (ip, port) = parse(address)?;
    let mut taken = taken.iter();
    let other = taken.find(|(of, at)| {
        let meets = ip.is_unspecified() || of.is_unspecified() || *of == ip;
        *at == port && meets
    });
    other.map(|(of, at)| format!("somebody listens at {}", SocketAddr::new(*of, *at)))
}

/// Asks each controller that the configuration names, but this node itself, for a connection; all at once. A name that
/// is not resolved in time counts as one that cannot be reached.
pub(super) fn controllers(broker: &BrokerConfig, ports: Ports) -> Vec<ControllerFacts> {
    if ports != Ports::Try {
        return Vec::new();
    }
    let of = |key: &str| {
        broker
            .properties
            .get(key)
            .filter(|of| !of.trim().is_empty())
    };
    let (named, key) = match (
        of("controller.quorum.voters"),
        of("controller.quorum.bootstrap.servers"),
    ) {
        (Some(voters), _) => (voters, "controller.quorum.voters"),
        (None, Some(servers)) => (servers, "controller.quorum.bootstrap.servers"),
        (None, None) => return Vec::new(),
    };
    let node = broker.node_id.as_ref().map(|id| id.value);
    let all: Vec<(Option<i32>, &str)> = (named.split(',').map(str::trim))
        .filter(|one| !one.is_empty())
        .map(|one| match one.split_once('@') {
            Some((id, address)) => (id.trim().parse().ok(), address.trim()),
            None => (None, one),
        })
        .collect();
    let own: Vec<&str> = listeners_of(broker)
        .into_iter()
        .filter(|listener| listener.is_controller)
        .map(|listener| listener.address)
        .collect();
    let is_self = |id: Option<i32>, address: &str| match id {
        Some(_) => id == node && has_role(broker, "controller"),
        None => own.contains(&address),
    };
    let asked: Vec<_> = all
        .into_iter()
        .map(|(id, address)| {
            let answer = (!is_self(id, address)).then(|| ask(address.to_owned()));
            (address, answer)
        })
        .collect();
    let until = Instant::now() + ANSWER * 2;
    let answered = asked.into_iter().map(|(address, answer)| ControllerFacts {
        address: address.to_owned(),
        key,
        is_self: answer.is_none(),
        refused: answer.and_then(|answer| {
            let left = until.saturating_duration_since(Instant::now());
            let late = || Some(format!("no answer within {} s", (ANSWER * 2).as_secs()));
            answer.recv_timeout(left).unwrap_or_else(|_| late())
        }),
    });
    answered.collect()
}

/// Asks for a connection, in a thread of its own, as a name may take long to be resolved; the answer is why there is none.
fn ask(address: String) -> Receiver<Option<String>> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let connect = || -> std::io::Result<()> {
            let mut last = std::io::Error::other("the name has no address");
            for at in address.to_socket_addrs()? {
                match TcpStream::connect_timeout(&at, ANSWER) {
                    Ok(_) => return Ok(()),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        // Nobody may listen any more.
        let _ = sender.send(connect().err().map(|error| error.to_string()));
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_where_addresses_meet() {
        let taken = [
            (IpAddr::from([127, 0, 0, 1]), 9092),
            (IpAddr::from([0_u16; 8]), 9093),
        ];
        for (address, is) in [
            (":9092", true),
            ("0.0.0.0:9092", true),
            ("localhost:9092", true),
            ("10.0.0.7:9092", false),
            ("10.0.0.7:9093", true),
            ("[::1]:9093", true),
            (":9094", false),
            ("kafka.example:9092", false),
        ] {
            assert_eq!(is_taken(address, &taken).is_some(), is, "{address}");
        }
    }
}
