//! A cluster as a client sees it: bootstrap, brokers by id, who is asked what, and what is tried again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;
use tokio_rustls::rustls;

use super::address::Address;
use super::api::Api;
use super::config::{ClientConfig, Transport};
use super::connection::Connection;
use super::error::{ClientError, KafkaError};
use super::node::Node;
use super::tls::rustls_config;
use super::versions::Versions;

/// The first wait before something is tried again, and the longest: Kafka's `retry.backoff.ms` and its maximum.
const BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// A broker of the cluster, as the metadata name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerNode {
    /// Its id.
    pub id: i32,
    /// Where it listens.
    pub address: Address,
    /// Its rack.
    pub rack: Option<String>,
}

/// Which broker is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// Any that answers.
    Any,
    /// The controller as the metadata name it; in `KRaft` any broker hands the request on.
    Controller,
    /// The broker with this id.
    Broker(i32),
}

/// A client of one cluster; asks several brokers in parallel through shared references.
pub struct Client {
    config: ClientConfig,
    tls: Option<Arc<rustls::ClientConfig>>,
    known: Mutex<Known>,
    nodes: Mutex<BTreeMap<Key, Arc<AsyncMutex<Node>>>>,
    requests: AtomicU64,
}

/// What the last metadata said.
#[derive(Debug, Default)]
struct Known {
    brokers: BTreeMap<i32, Address>,
    controller: Option<i32>,
}

/// A connection's owner: a broker, or an address of the bootstrap list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Broker(i32),
    Bootstrap(Address),
}

impl Client {
    /// Returns a client; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// Certificates or a key that cannot be used.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let tls = match &config.transport {
            Transport::Plain => None,
            Transport::Tls(tls) => Some(rustls_config(tls)?),
        };
        Ok(Self {
            config,
            tls,
            known: Mutex::default(),
            nodes: Mutex::default(),
            requests: AtomicU64::new(0),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Returns how many requests were sent.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Takes what metadata say of the brokers.
    pub(super) fn learn(&self, brokers: &[BrokerNode], controller: Option<i32>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.brokers = brokers
            .iter()
            .map(|broker| (broker.id, broker.address.clone()))
            .collect();
        known.controller = controller;
    }

    /// Returns the brokers that the last metadata named.
    pub fn brokers(&self) -> Vec<i32> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.brokers.keys().copied().collect()
    }

    /// Asks once; `build` makes the request for the version that both sides speak.
    ///
    /// # Errors
    ///
    /// The broker cannot be reached, does not answer, or not with what was asked.
    pub async fn ask<A: Api>(
        &self,
        whom: Whom,
        build: impl Fn(i16) -> A,
    ) -> Result<(A::Response, i16), ClientError> {
        match whom {
            Whom::Broker(id) => {
                let address = self.address(id).ok_or(ClientError::UnknownBroker(id))?;
                self.ask_at(Key::Broker(id), &address, &build).await
            }
            Whom::Controller => {
                let controller = {
                    let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.controller
                };
                match controller.and_then(|id| Some((id, self.address(id)?))) {
                    Some((id, address)) => self.ask_at(Key::Broker(id), &address, &build).await,
                    None => self.ask_any(&build).await,
                }
            }
            Whom::Any => self.ask_any(&build).await,
        }
    }

    /// Asks as [`Client::ask`] does, again after errors that Kafka calls retriable, at most `limit` long; `check` finds the
    /// error inside a response.
    ///
    /// # Errors
    ///
    /// The last error.
    pub async fn insist<A: Api>(
        &self,
        whom: Whom,
        limit: Duration,
        build: impl Fn(i16) -> A,
        check: impl Fn(&A::Response) -> Result<(), ClientError>,
    ) -> Result<(A::Response, i16), ClientError> {
        let begin = Instant::now();
        let mut wait = BACK_OFF;
        loop {
            let answer = self.ask(whom, &build).await;
            let answer = answer.and_then(|answer| check(&answer.0).map(|()| answer));
            let error = match answer {
                Err(error) if error.is_retriable() && begin.elapsed() + wait < limit => error,
                other => return other,
            };
            tracing::debug!(error = %error.in_one_line(), "asked again");
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_BACK_OFF);
            // Who leads and who is the controller may have changed.
            let _ = self.refresh().await;
        }
    }

    /// Returns what a broker speaks; connects if need be.
    ///
    /// # Errors
    ///
    /// As for [`Client::ask`].
    pub async fn versions(&self, id: i32) -> Result<Versions, ClientError> {
        let address = self.address(id).ok_or(ClientError::UnknownBroker(id))?;
        let node = self.node(Key::Broker(id));
        let mut node = node.lock().await;
        let connection = self.connected(&mut node, &address).await?;
        Ok(connection.versions().clone())
    }

    fn address(&self, id: i32) -> Option<Address> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.brokers.get(&id).cloned()
    }

    fn node(&self, key: Key) -> Arc<AsyncMutex<Node>> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(nodes.entry(key).or_default())
    }

    /// Asks the brokers that are known, then those of the bootstrap list, until one answers.
    async fn ask_any<A: Api>(
        &self,
        build: &impl Fn(i16) -> A,
    ) -> Result<(A::Response, i16), ClientError> {
        let brokers: Vec<_> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let brokers = known.brokers.iter();
            brokers
                .map(|(id, address)| (Key::Broker(*id), address.clone()))
                .collect()
        };
        let bootstrap = self.config.bootstrap.iter();
        let bootstrap = bootstrap.map(|address| (Key::Bootstrap(address.clone()), address.clone()));
        let mut tried = Vec::new();
        for (key, address) in brokers.into_iter().chain(bootstrap) {
            match self.ask_at(key, &address, build).await {
                Ok(answer) => return Ok(answer),
                // Another broker would say the same.
                Err(error @ (ClientError::Config { .. } | ClientError::Login { .. })) => {
                    return Err(error);
                }
                Err(error) => tried.push(error),
            }
        }
        if tried.len() == 1 {
            return Err(tried.remove(0));
        }
        let mut told: Vec<_> = tried.iter().map(ClientError::in_one_line).collect();
        told.dedup();
        Err(ClientError::NoBroker { tried: told })
    }

    async fn ask_at<A: Api>(
        &self,
        key: Key,
        address: &Address,
        build: &impl Fn(i16) -> A,
    ) -> Result<(A::Response, i16), ClientError> {
        let node = self.node(key);
        let mut node = node.lock().await;
        let connection = self.connected(&mut node, address).await?;
        let answer = connection.ask(build).await;
        self.requests
            .fetch_add(connection.take_sent(), Ordering::Relaxed);
        match &answer {
            Err(error) if connection.is_broken() => {
                node.failed(address, Instant::now(), error.in_one_line());
            }
            _ => node.succeeded(),
        }
        answer
    }

    /// Returns the connection of `node`, a new one if there is none that can be used.
    async fn connected<'a>(
        &self,
        node: &'a mut Node,
        address: &Address,
    ) -> Result<&'a mut Connection, ClientError> {
        let usable =
            |connection: &Connection| !connection.is_broken() && connection.address() == address;
        if !node.connection.as_ref().is_some_and(usable) {
            node.connection = None;
            if let Some((ago, cause)) = node.backing_off(address, Instant::now()) {
                return Err(ClientError::BackingOff {
                    address: address.to_string(),
                    ago,
                    cause,
                });
            }
            let opened = Connection::open(address, &self.config, self.tls.as_ref()).await;
            match opened {
                Ok(connection) => node.connection = Some(connection),
                Err(error) => {
                    node.failed(address, Instant::now(), error.in_one_line());
                    return Err(error);
                }
            }
        }
        node.connection
            .as_mut()
            .ok_or_else(|| ClientError::Connect {
                address: address.to_string(),
                source: std::io::ErrorKind::NotConnected.into(),
            })
    }
}

/// Returns the error of `code`, if it is one.
pub(super) fn refused(
    code: i16,
    message: Option<&str>,
    what: impl FnOnce() -> String,
) -> Result<(), ClientError> {
    let Some(code) = KafkaError::of(code) else {
        return Ok(());
    };
    Err(ClientError::Refused {
        what: what(),
        code,
        message: message.map(str::to_owned).filter(|text| !text.is_empty()),
    })
}
