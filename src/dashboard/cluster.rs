//! Asks the living cluster beside the screen, while somebody looks at it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use crate::app::Event;
use crate::app::state::ClusterFacts;
use crate::cli::target::Candidate;
use crate::cli::{CliError, Context, LiveClient, forecast_truncations, live_client};
use crate::observe::cluster::{Configs, ReplicaMeter, look_at_cluster, read_configs};

use super::look::{News, now};

/// How long from the end of one look to the next.
const PAUSE: Duration = Duration::from_secs(3);
/// Looks after which settings are asked for anew.
const CONFIGS_EVERY: u64 = 20;
/// The same while replicas are not in sync: a throttle may hold them back.
const CONFIGS_EVERY_LAGGING: u64 = 4;

/// What the asking thread is told: whether somebody looks, and how often a look was asked for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Wish {
    looks: bool,
    at_once: u64,
}

/// A thread that asks the brokers; it ends with this handle.
#[derive(Debug)]
pub(super) struct ClusterWatch {
    wish: watch::Sender<Wish>,
}

impl ClusterWatch {
    /// Starts the thread; it asks nothing before [`ClusterWatch::set`].
    pub(super) fn start(
        context: &Arc<Context>,
        candidate: Option<Candidate>,
        news: &UnboundedSender<News>,
    ) -> Self {
        let (wish, wishes) = watch::channel(Wish::default());
        let asker = Asker {
            context: Arc::clone(context),
            candidate,
            live: None,
            meter: ReplicaMeter::new(),
            configs: Configs::default(),
            configs_age: CONFIGS_EVERY,
        };
        let news = news.clone();
        std::thread::spawn(move || ask(asker, &news, wishes));
        Self { wish }
    }

    /// Says whether somebody looks.
    pub(super) fn set(&self, looks: bool) {
        self.wish
            .send_if_modified(|wish| std::mem::replace(&mut wish.looks, looks) != looks);
    }

    /// Asks for a look now.
    pub(super) fn at_once(&self) {
        self.wish.send_modify(|wish| wish.at_once += 1);
    }
}

fn ask(mut asker: Asker, news: &UnboundedSender<News>, mut wishes: watch::Receiver<Wish>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let lost = |cause: String| News::Event(Event::ClusterLost { cause, at: now() });
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = news.send(lost(error.to_string()));
            return;
        }
    };
    runtime.block_on(async {
        // The screen has gone once either end of a channel has.
        while wishes.wait_for(|wish| wish.looks).await.is_ok() {
            wishes.mark_unchanged();
            let told = match asker.look().await {
                Ok(facts) => News::Event(Event::Cluster(Box::new(facts))),
                Err(cause) => lost(cause),
            };
            if news.send(told).is_err() {
                return;
            }
            let _ = tokio::time::timeout(PAUSE, wishes.changed()).await;
        }
    });
}

/// A client and what is known from look to look.
/// The quorum is no reason to be late: without a controller a broker holds back its answer.
const QUORUM_PATIENCE: Duration = Duration::from_secs(1);

struct Asker {
    context: Arc<Context>,
    candidate: Option<Candidate>,
    live: Option<LiveClient>,
    meter: ReplicaMeter,
    configs: Configs,
    /// Looks since settings were asked for.
    configs_age: u64,
}

impl Asker {
    async fn look(&mut self) -> Result<ClusterFacts, String> {
        if self.live.is_none() {
            let none = || CliError::usage("no broker is open");
            let candidate = self.candidate.clone().ok_or_else(none);
            let live = live_client(&self.context, candidate);
            self.live = Some(live.map_err(|error| error.to_string())?);
        }
        let Some(live) = &self.live else {
            return Err("no broker is open".to_owned());
        };
        let looked = look_at_cluster(&live.client, None, &self.configs, now).await;
        let mut sample = looked.map_err(|error| error.in_one_line())?;
        let mut partitions = sample.metadata.partitions.values();
        let is_whole = partitions.all(|known| known.isr.len() >= known.replicas.len());
        self.configs_age += 1;
        let every = if is_whole {
            CONFIGS_EVERY
        } else {
            CONFIGS_EVERY_LAGGING
        };
        if self.configs_age > every {
            self.configs_age = 0;
            if let Ok(configs) = read_configs(&live.client, &sample.metadata, sample.at).await {
                sample.configs = configs.clone();
                self.configs = configs;
            }
        }
        let forecasts = match &live.host {
            Some(host) => forecast_truncations(&live.client, &sample, host).await,
            None => BTreeMap::new(),
        };
        // Not known to ZooKeeper's brokers, or not to us.
        let asked = tokio::time::timeout(QUORUM_PATIENCE, live.client.quorum()).await;
        let quorum = asked.ok().and_then(Result::ok);
        let mut features = BTreeMap::new();
        let mut answering = sample.brokers.iter();
        // The connection is there: that asks nothing.
        if let Some((id, _)) = answering.find(|(_, broker)| broker.failure.is_none())
            && let Ok(versions) = live.client.versions(*id).await
        {
            features.clone_from(versions.features());
        }
        let brokers = sample.brokers.iter();
        Ok(ClusterFacts {
            at: sample.at,
            took_ms: sample.took_ms,
            requests: sample.requests,
            found_by: live.found_by.clone(),
            node_id: live.node_id,
            brokers: brokers
                .map(|(id, broker)| (*id, broker.failure.clone()))
                .collect(),
            rows: self.meter.take(&sample),
            forecasts,
            quorum,
            features,
        })
    }
}
