//! The living cluster, from the command line's words.

use std::path::PathBuf;
use std::sync::Arc;

use super::target::{Candidate, Identity, find_candidates, only_candidate};
use super::{CliError, Context, Exit};
use crate::client::{Address, Client, ClientConfig, ClientError};
use crate::format::properties::Properties;
use crate::observe::cluster::LOOK_LIMIT;
use crate::settings::{broker_listeners, read_client_properties};

/// A client, where its bootstrap list is from, and which broker is this host's.
pub struct LiveClient {
    /// Asks the cluster.
    pub client: Arc<Client>,
    /// Where the bootstrap list is from.
    pub found_by: String,
    /// This host's broker, if there is one.
    pub node_id: Option<i32>,
    /// The same with its log dirs.
    pub host: Option<HostBroker>,
}

/// This host's broker by its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBroker {
    /// Its id.
    pub node_id: i32,
    /// Its cluster, by `meta.properties`.
    pub cluster_id: Option<String>,
    /// Its log dirs.
    pub log_dirs: Vec<PathBuf>,
}

/// The same, with what runs its futures.
pub(super) struct Live {
    pub(super) client: Arc<Client>,
    pub(super) found_by: String,
    pub(super) node_id: Option<i32>,
    pub(super) host: Option<HostBroker>,
    runtime: tokio::runtime::Runtime,
}

/// Returns a client of the cluster that `--bootstrap` names, else of this host's broker `candidate`.
///
/// # Errors
///
/// Neither is there, or the client's configuration cannot be used.
pub fn live_client(
    context: &Context,
    candidate: Result<Candidate, CliError>,
) -> Result<LiveClient, CliError> {
    let properties = match &context.command_config {
        Some(path) => Some(read_client_properties(path)?),
        None => None,
    };
    let host = candidate.as_ref().ok().and_then(host_broker);
    let node_id = host.as_ref().map(|host| host.node_id);
    let listed = properties
        .as_ref()
        .and_then(|file| file.get("bootstrap.servers"));
    let (list, found_by) = match (&context.bootstrap, listed) {
        (Some(list), _) => (parse(list, "--bootstrap")?, "--bootstrap".to_owned()),
        (None, Some(list)) => (
            parse(list, "bootstrap.servers")?,
            "bootstrap.servers".to_owned(),
        ),
        (None, None) => of_host(&candidate?, properties.as_ref())?,
    };
    let client = client_of(list, properties.as_ref())
        .map_err(|error| config_error(&error, context.command_config.as_ref()))?;
    Ok(LiveClient {
        client: Arc::new(client),
        found_by,
        node_id,
        host,
    })
}

/// Returns a client of the brokers in `list`, with the security of `properties`.
pub(super) fn client_of(
    list: Vec<Address>,
    properties: Option<&Properties>,
) -> Result<Client, ClientError> {
    let mut config = match properties {
        Some(properties) => ClientConfig::of_properties(list, properties)?,
        None => ClientConfig::plaintext(list),
    };
    // A silent broker is a fact of its own: it is not waited for as long as a producer would.
    config.request_timeout = config.request_timeout.min(LOOK_LIMIT);
    config.connect_timeout = config.connect_timeout.min(LOOK_LIMIT);
    Client::new(config)
}

impl Live {
    /// Returns a client, and what runs its futures.
    ///
    /// # Errors
    ///
    /// No thread's event loop can be made.
    pub(super) fn of(client: Client, found_by: &str) -> Result<Self, CliError> {
        Ok(Self {
            client: Arc::new(client),
            found_by: found_by.to_owned(),
            node_id: None,
            host: None,
            runtime: runtime()?,
        })
    }

    /// Returns a client of the cluster that `--bootstrap` names, else of this host's broker.
    ///
    /// # Errors
    ///
    /// As for [`live_client`].
    pub(super) fn new(context: &Context) -> Result<Self, CliError> {
        let candidate = find_candidates(context).and_then(only_candidate);
        let LiveClient {
            client,
            found_by,
            node_id,
            host,
        } = live_client(context, candidate)?;
        Ok(Self {
            client,
            found_by,
            node_id,
            host,
            runtime: runtime()?,
        })
    }

    /// Runs `future` to its end.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Returns the broker that a command is about: the one that was named, else this host's.
    pub(super) fn broker(&self, named: Option<i32>) -> Result<i32, CliError> {
        named.or(self.node_id).ok_or_else(|| {
            CliError::usage("which broker? none was found on this host")
                .hint("Name it with --broker ID, or its configuration with --config FILE.")
        })
    }

    /// Returns the bootstrap list as text.
    pub(super) fn bootstrap(&self) -> String {
        let list = self.client.config().bootstrap.iter();
        list.map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed("cannot start the client").because(&error))
}

fn host_broker(candidate: &Candidate) -> Option<HostBroker> {
    let configured = candidate.broker.node_id.as_ref().map(|id| id.value);
    let log_dirs = candidate.broker.log_dirs.value.clone();
    let identity = Identity::read(&log_dirs);
    Some(HostBroker {
        node_id: configured.or(identity.node_id)?,
        cluster_id: identity.cluster_id,
        log_dirs,
    })
}

fn parse(list: &str, option: &str) -> Result<Vec<Address>, CliError> {
    Address::parse_list(list).map_err(|cause| CliError::usage(format!("{option}: {cause}")))
}

/// Returns where this host's broker listens with the security that the client's configuration asks for.
fn of_host(
    candidate: &Candidate,
    properties: Option<&Properties>,
) -> Result<(Vec<Address>, String), CliError> {
    let need = || {
        CliError::usage("which cluster? no listener of this host's broker is known")
            .hint("Name a broker with --bootstrap HOST:PORT.")
    };
    let path = candidate.broker.path.as_ref().ok_or_else(need)?;
    let listeners = broker_listeners(path)?;
    let wanted = properties
        .and_then(|file| file.get("security.protocol"))
        .unwrap_or("PLAINTEXT");
    let fitting = listeners
        .iter()
        .find(|listener| listener.protocol.eq_ignore_ascii_case(wanted.trim()));
    let Some(listener) = fitting else {
        let error = CliError::usage(format!(
            "the broker of {} has no {wanted} listener",
            path.display()
        ));
        let list = listeners.iter().map(|listener| {
            format!(
                "It has {} ({}) at {}: name it with --bootstrap, and --command-config FILE as for kafka-topics.sh.",
                listener.name,
                listener.protocol,
                listener.addresses.join(", ")
            )
        });
        return Err(list.fold(error, CliError::hint));
    };
    let addresses = listener.addresses.join(",");
    Ok((
        parse(&addresses, "the broker's listener")?,
        format!("listener {} of {}", listener.name, path.display()),
    ))
}

fn config_error(error: &ClientError, file: Option<&PathBuf>) -> CliError {
    let place = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
    CliError::usage(format!("{place}{}", error.in_one_line()))
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let hint = match &error {
            ClientError::Connect { .. }
            | ClientError::NoBroker { .. }
            | ClientError::TimedOut { .. } => {
                "Is the broker up, and is this its listener? krescue status needs no broker."
            }
            ClientError::Unsupported {
                what: "Metadata", ..
            } => "Is it a controller's listener? Name a broker's.",
            ClientError::NotKafka { .. } | ClientError::Malformed { .. } => {
                "Is this the listener's security? --command-config FILE names another (security.protocol)."
            }
            ClientError::Broken { .. } => {
                "A broker closes at once where its listener wants TLS or a login: --command-config FILE."
            }
            ClientError::Login { .. } => {
                "Check the user and its password, and that the broker offers the mechanism."
            }
            ClientError::Tls { .. } => {
                "Check ssl.truststore.* and the name in the broker's certificate."
            }
            _ => "",
        };
        let exit = match &error {
            ClientError::Config { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        let mut this = Self::new(exit, error.to_string()).hint(hint);
        if let Some(source) = std::error::Error::source(&error) {
            this = this.because(source);
        }
        this
    }
}
