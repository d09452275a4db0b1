//! From what was named on the command line to [`Facts`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

use super::live;
use crate::app::state::MirrorWorld;
use crate::cli::args::{ClusterAt, ClusterPlace, MirrorSources};
use crate::cli::{CliError, Context};
use crate::disk::RealStorage;
use crate::engine::{FactsRequest, read_cluster_facts, read_copies, read_uncopied};
use crate::format::properties::Properties;
use crate::mirror::{
    ClusterFacts, FACTS_SCHEMA, Facts, Flow, FlowName, MirrorProperties, Thinning, copy_looks,
    known_flows, second_look,
};
use crate::settings::read_mm2_properties;
use crate::terms::KafkaVersion;

/// What a cluster is called that does not say what MirrorMaker 2 calls it.
const OWN_ALIAS: &str = "here";
/// The largest file of facts that is read.
const MAX_FACTS: u64 = 1 << 30;

/// Facts as `mirror facts` prints them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FactsObject {
    kind: String,
    schema: u32,
    facts: Facts,
}

impl FactsObject {
    /// Returns the object that holds `facts`.
    pub(super) fn new(facts: Facts) -> Self {
        Self {
            kind: "mirror_facts".to_owned(),
            schema: FACTS_SCHEMA,
            facts,
        }
    }
}

/// What is known, and the flows in it.
pub(super) struct Known {
    pub(super) facts: Facts,
    pub(super) flows: Vec<Flow>,
    /// The release of MirrorMaker 2, if it was given.
    pub(super) version: Option<KafkaVersion>,
    /// MirrorMaker 2's file as it is, with its secrets.
    pub(super) settings: Option<Properties>,
}

impl Known {
    /// Returns a flow by its name.
    ///
    /// # Errors
    ///
    /// A usage error that names those that are known.
    pub(super) fn flow(&self, name: &FlowName) -> Result<&Flow, CliError> {
        let found = self.flows.iter().find(|flow| flow.name == *name);
        found.ok_or_else(|| {
            let flows: Vec<String> = self.flows.iter().map(|flow| flow.name.to_string()).collect();
            let hint = if flows.is_empty() {
                "No flow is seen: name MirrorMaker 2's file with --mm2, and both clusters with --cluster."
                    .to_owned()
            } else {
                format!("Flows that are known: {}.", flows.join(", "))
            };
            CliError::usage(format!("there is no flow {name}")).hint(hint)
        })
    }
}

impl Known {
    /// Reads the records of the copies that lie here: much more than all other facts together.
    pub(super) fn look_at_copies(&mut self, context: &Context) {
        let looks = copy_looks(&self.facts, &self.flows);
        read_copies(&RealStorage, &looks, &context.host, &mut self.facts);
    }
}

/// Reads everything that was named.
pub(super) fn read(context: &Context, sources: &MirrorSources) -> Result<Known, CliError> {
    if sources.is_empty() {
        return Err(CliError::usage("nothing was named to learn of MirrorMaker 2 from").hint(
            "Name its file with --mm2 FILE, log dirs with --cluster ALIAS=DIR[,DIR], a living cluster with --cluster \
             ALIAS=HOST:PORT, or what `krescue mirror facts` printed with --facts FILE.",
        ));
    }
    let mut facts = Facts::default();
    let mut settings = None;
    if let Some(path) = &sources.mm2 {
        let (properties, text) = read_mm2_properties(path)?;
        let name = path.display().to_string();
        facts.properties = Some(MirrorProperties::new(name, &properties, &text));
        settings = Some(properties);
    }
    for path in &sources.facts {
        facts.merge(facts_file(path)?);
    }
    let thinning = sources
        .mm2_version
        .map_or_else(Thinning::default, Thinning::of);
    let mut clients = BTreeMap::new();
    let mut patience = live::Patience::new();
    for place in &sources.cluster {
        match &place.at {
            ClusterAt::LogDirs(dirs) => {
                let cluster = from_disk(context, &place.alias, dirs, thinning)?;
                facts.merge_cluster(&place.alias, cluster);
            }
            ClusterAt::Live(address) => {
                let settings = settings.as_ref();
                let known = (&mut facts, &mut patience);
                let read = live::read(context, (place, address), settings, thinning, known)?;
                clients.extend(read.map(|live| (place.alias.clone(), live)));
            }
        }
    }
    if facts.clusters.is_empty() && !facts.unreached.is_empty() {
        return Err(live::unreached(&facts.unreached));
    }
    check_aliases(&facts)?;
    let flows = known_flows(&facts, sources.mm2_version);
    for (alias, look) in second_look(&facts, &flows) {
        let Some(cluster) = facts.clusters.get_mut(&alias) else {
            continue;
        };
        match clients.get(&alias) {
            Some(client) => live::read_again(client, &look, cluster),
            None => read_uncopied(&RealStorage, &look, &context.host, cluster),
        }
    }
    Ok(Known {
        flows,
        version: sources.mm2_version,
        settings,
        facts,
    })
}

fn from_disk(
    context: &Context,
    alias: &str,
    log_dirs: &[PathBuf],
    thinning: Thinning,
) -> Result<ClusterFacts, CliError> {
    let counter = AtomicU64::new(0);
    let request = FactsRequest {
        log_dirs,
        host: &context.host,
        now: context.now,
        thinning,
        counter: &counter,
    };
    read_cluster_facts(&RealStorage, request).map_err(|error| {
        CliError::failed(format!("cannot read cluster \"{alias}\""))
            .because(&error)
            .hint(
                "Name the log dirs of one broker of that cluster: --cluster ALIAS=DIR[,DIR]; or a living one: \
                 --cluster ALIAS=HOST:PORT.",
            )
    })
}

/// Reads what the dashboard shows: what was named, else the log dirs of the broker that is open.
///
/// # Errors
///
/// Something named that cannot be read, or log dirs that cannot be listed.
pub fn read_mirror(context: &Context, log_dirs: &[PathBuf]) -> Result<MirrorWorld, CliError> {
    let mut sources = context.mirror.clone();
    let known = if sources.is_empty() {
        sources.cluster.push(ClusterPlace {
            alias: OWN_ALIAS.to_owned(),
            at: ClusterAt::LogDirs(log_dirs.to_vec()),
        });
        let mut known = read(context, &sources)?;
        if let Some(own) = known.facts.clusters.remove(OWN_ALIAS) {
            let alias = own.own_alias().unwrap_or_else(|| OWN_ALIAS.to_owned());
            for place in &mut sources.cluster {
                place.alias.clone_from(&alias);
            }
            known.facts.clusters.insert(alias, own);
        }
        known.flows = known_flows(&known.facts, None);
        known
    } else {
        read(context, &sources)?
    };
    Ok(MirrorWorld {
        words: sources.words(),
        clock: context.now_given.then_some(context.now),
        ..MirrorWorld::new(&known.facts, &known.flows, known.version)
    })
}

fn facts_file(path: &Path) -> Result<Facts, CliError> {
    let failed = |error: &dyn std::error::Error| {
        CliError::failed(format!("cannot read facts of {}", path.display()))
            .because(error)
            .hint("It must be what `krescue mirror facts` printed, whole.")
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let object: FactsObject = serde_json::from_reader(BufReader::new(file.take(MAX_FACTS)))
        .map_err(|error| failed(&error))?;
    if object.kind != "mirror_facts" || object.schema != FACTS_SCHEMA {
        return Err(CliError::failed(format!(
            "{} has the layout {} {}, this krescue reads mirror_facts {FACTS_SCHEMA}",
            path.display(),
            object.kind,
            object.schema
        ))
        .hint("Make it again with this krescue."));
    }
    Ok(object.facts)
}

/// A cluster under a name that the file does not know would be left out in silence.
fn check_aliases(facts: &Facts) -> Result<(), CliError> {
    let Some(file) = &facts.properties else {
        return Ok(());
    };
    let aliases = file.aliases();
    match facts.clusters.keys().find(|alias| !aliases.contains(alias)) {
        None => Ok(()),
        Some(alias) => Err(CliError::usage(format!(
            "cluster \"{alias}\" is none of those in {}: {}",
            file.file,
            aliases.join(", ")
        ))
        .hint("Name log dirs by the aliases of that file; case counts.")),
    }
}
