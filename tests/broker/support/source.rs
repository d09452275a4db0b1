//! Crashed brokers: what real Kafka leaves when it is killed in the middle of traffic.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nix::sys::signal::Signal;

use super::broker::{Broker, PATIENCE};
use super::kafka::{Kafka, run, target};
use super::process::Process;
use super::topics::{EVERY_KIND, Topic, override_lines, workload_lines};
use super::tree;

/// The log dirs of a killed broker; whoever changes them works on a copy.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) kafka: Arc<Kafka>,
    /// Holds `data1`, `data2`, `server.properties`, `topics` and `now`.
    pub(crate) folder: PathBuf,
    /// Kafka's clock for all that follows, in ms: shortly after the kill.
    pub(crate) now: i64,
}

/// How a broker is made to crash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe<'a> {
    pub(crate) topics: &'a [Topic],
    /// Rounds of traffic before each of three stops, and before the kill.
    pub(crate) rounds: [u32; 4],
    pub(crate) settings: &'a [&'a str],
}

/// What the comparison takes.
pub(crate) const EVERY_KIND_RECIPE: Recipe<'_> = Recipe {
    topics: &EVERY_KIND,
    rounds: [5, 5, 4, 6],
    settings: &SOURCE_SETTINGS,
};

/// Those of the shared source: what a broker does half a minute after its start it does on slow machines alone.
const SOURCE_SETTINGS: [&str; 5] = [
    SETTINGS[0],
    SETTINGS[1],
    SETTINGS[2],
    SETTINGS[3],
    "log.initial.task.delay.ms=3600000",
];

/// Settings that a test's own broker keeps when it is started again.
pub(crate) const SETTINGS: [&str; 4] = [
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "log.cleaner.backoff.ms=500",
    "num.recovery.threads.per.data.dir=2",
];

impl Source {
    /// Returns the crashed broker of `version` that all tests share.
    pub(crate) fn shared(version: &str) -> Arc<Self> {
        static SHARED: Mutex<BTreeMap<String, Arc<OnceLock<Arc<Source>>>>> =
            Mutex::new(BTreeMap::new());
        let place = {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shared.entry(version.to_owned()).or_default())
        };
        Arc::clone(place.get_or_init(|| Arc::new(Self::find_or_make(version))))
    }

    fn find_or_make(version: &str) -> Self {
        let kafka = Kafka::resolve(version);
        let maker = maker(version);
        if maker != version {
            return Self::shared(maker).lend(kafka);
        }
        if let Some(folder) = std::env::var_os("KRESCUE_SOURCE") {
            return Self::open(kafka, Path::new(&folder).join(version));
        }
        let folder = target().join("kafka/crashed").join(version);
        let _ = fs::remove_dir_all(&folder);
        Self::make(kafka, &folder, EVERY_KIND_RECIPE)
    }

    /// Copies what this broker left for another release, which leaves the same bytes of the same traffic.
    fn lend(&self, kafka: Arc<Kafka>) -> Self {
        let folder = target().join("kafka/lent").join(&kafka.version);
        let _ = fs::remove_dir_all(&folder);
        self.copy_to(&folder);
        let topics = fs::read_to_string(folder.join("topics")).unwrap();
        let key = self.kafka.segment_key();
        // A key that the release does not know.
        let known: Vec<String> = topics
            .lines()
            .map(|line| {
                let words = line.split_whitespace();
                let kept = words.filter(|word| kafka.knows_segment_key() || !word.starts_with(key));
                kept.collect::<Vec<_>>().join(" ")
            })
            .collect();
        fs::write(folder.join("topics"), known.join("\n") + "\n").unwrap();
        let for_krescue = known.iter().map(|line| match line.split_once(' ') {
            Some((topic, overrides)) => format!("{topic} {}\n", overrides.replace(' ', ",")),
            None => String::new(),
        });
        fs::write(folder.join("topic-config"), for_krescue.collect::<String>()).unwrap();
        Self::open(kafka, folder)
    }

    /// Opens a crashed broker that [`Source::make`] left.
    pub(crate) fn open(kafka: Arc<Kafka>, folder: PathBuf) -> Self {
        let now = fs::read_to_string(folder.join("now")).unwrap();
        Self {
            kafka,
            folder,
            now: now.trim().parse().unwrap(),
        }
    }

    /// Runs a broker in `folder`, stops it twice in order, kills it once, and kills it again under load.
    pub(crate) fn make(kafka: Arc<Kafka>, folder: &Path, recipe: Recipe<'_>) -> Self {
        let mut broker = Broker::create(Arc::clone(&kafka), folder, recipe.settings);
        fs::write(
            folder.join("workload"),
            workload_lines(recipe.topics, &kafka),
        )
        .unwrap();
        fs::write(folder.join("topics"), override_lines(recipe.topics, &kafka)).unwrap();
        let workload = |broker: &Broker, phase: usize| -> Command {
            let name = if phase == 3 {
                "last".to_owned()
            } else {
                phase.to_string()
            };
            let mut command = if phase == 3 {
                kafka.attached("256m", "Workload")
            } else {
                kafka.java("256m", "Workload")
            };
            command
                .args([
                    broker.bootstrap(),
                    name,
                    "7".to_owned(),
                    recipe.rounds[phase].to_string(),
                ])
                .arg(folder.join("workload"));
            command
        };
        for phase in 0..3 {
            broker.start();
            run(
                &mut workload(&broker, phase),
                &format!("workload, phase {phase}"),
            );
            if phase == 1 {
                broker.kill();
            } else {
                broker.stop();
            }
        }
        broker.start();
        let mut last = Process::spawn(&mut workload(&broker, 3), &folder.join("workload.log"));
        last.wait_for("READY", PATIENCE);
        // Traffic goes on while the broker dies.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        broker.kill();
        last.stop(Signal::SIGKILL);
        let now = now_ms() + 60_000;
        fs::write(folder.join("now"), now.to_string()).unwrap();
        Self::open(kafka, folder.to_owned())
    }

    /// Copies the broker's log dirs and settings into the new folder `to`, with `log.dirs` leading there.
    pub(crate) fn copy_to(&self, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for dir in ["data1", "data2"] {
            tree::copy(&self.folder.join(dir), &to.join(dir));
        }
        for file in ["topics", "now"] {
            tree::copy_file(&self.folder.join(file), &to.join(file));
        }
        self.write_properties(to);
    }

    /// Writes this broker's settings into `to`, with `log.dirs` leading there.
    pub(crate) fn write_properties(&self, to: &Path) {
        let text = fs::read_to_string(self.folder.join("server.properties")).unwrap();
        let lines: Vec<_> = text
            .lines()
            .map(|line| match line.strip_prefix("log.dirs=") {
                Some(_) => format!("log.dirs={0}/data1,{0}/data2", to.display()),
                None => line.to_owned(),
            })
            .collect();
        fs::write(to.join("server.properties"), lines.join("\n")).unwrap();
    }
}

/// Returns the release whose broker makes the data: not each can be told to make small segments.
fn maker(version: &str) -> &str {
    match version.split('.').next() {
        Some("3") => "3.9.1",
        _ => "4.4.0",
    }
}

/// Returns the time in ms.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
