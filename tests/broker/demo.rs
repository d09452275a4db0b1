//! Makes `demo-data/crashed.tar.zst` anew: `cargo test --features real-kafka --test broker -- --ignored`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::loading::work_folder;
use crate::support::batches::Batch;
use crate::support::damage::{Victim, number};
use crate::support::kafka::Kafka;
use crate::support::pack::pack_demo;
use crate::support::source::{Recipe, Source};
use crate::support::topics::DEMO;
use crate::support::tree;

const SETTINGS: [&str; 3] = [
    "offsets.topic.num.partitions=2",
    "transaction.state.log.num.partitions=2",
    "log.cleaner.backoff.ms=1000",
];
const VERSION: &str = "4.4.0";

#[test]
#[ignore = "writes demo-data/crashed.tar.zst; needs GNU tar and zstd"]
fn makes_the_demo_data() {
    let folder = work_folder("demo");
    let recipe = Recipe {
        topics: &DEMO,
        rounds: [5, 5, 5, 12],
        settings: &SETTINGS,
    };
    let source = Source::make(Kafka::resolve(VERSION), &folder.join("broker"), recipe);
    let demo = folder.join("demo");
    source.copy_to(&demo);
    for file in ["topics", "now"] {
        fs::remove_file(demo.join(file)).unwrap();
    }
    let properties = fs::read_to_string(demo.join("server.properties")).unwrap();
    let properties: String = properties.lines().fold(String::new(), |mut text, line| {
        let line = match line.split_once('=') {
            Some(("log.dirs", _)) => "log.dirs=/var/lib/kafka/data1,/var/lib/kafka/data2",
            Some(("listeners", _)) => {
                "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
            }
            Some(("advertised.listeners", _)) => "advertised.listeners=PLAINTEXT://127.0.0.1:9092",
            Some(("controller.quorum.voters", _)) => "controller.quorum.voters=1@127.0.0.1:9093",
            _ => line,
        };
        let _ = writeln!(text, "{line}");
        text
    });
    fs::write(demo.join("server.properties"), properties.trim_start()).unwrap();
    let about = format!(
        "# What this tree is: a Kafka broker's log dirs at the moment it was killed.\nkafka.version={VERSION}\n\
         # Milliseconds since 1970: the clock to judge it by (--now).\nkilled.at={}\n",
        source.now - 60_000
    );
    fs::write(demo.join("about.properties"), about).unwrap();
    hurt(&demo);

    let names = ["about.properties", "server.properties", "data1", "data2"];
    let length = pack_demo(&demo, &names, "crashed.tar.zst");
    eprintln!("crashed.tar.zst: {length} bytes");
    assert!(length < 1_500_000);
    fs::remove_dir_all(&folder).unwrap();
}

/// Does what a power cut and a failing disk do to three partitions.
fn hurt(demo: &Path) {
    let torn = victim(demo, "notifications-0");
    let base = torn.last_segment();
    change(&torn, &base, |file, length, _| {
        file.set_len(length - 23).unwrap();
    });

    let zeroed = victim(demo, "orders-2");
    let base = zeroed.last_segment();
    change(&zeroed, &base, |file, length, batches| {
        // The last page that holds more than one batch's worth never reached the disk.
        let page = (length - batches[0].length as u64) / 4096 * 4096;
        file.write_all_at(&vec![0; usize::try_from(length - page).unwrap()], page)
            .unwrap();
        eprintln!("orders-2: zeros from {page} of {base}.log, {length} bytes");
    });

    let flipped = victim(demo, "payments-1");
    let point = flipped.recovery_point.unwrap();
    let segments = flipped.segments();
    let base = segments.iter().find(|base| number(base) > point).unwrap();
    let behind = segments.iter().filter(|other| *other > base).count();
    assert!(behind > 1, "too few segments behind {base} of {segments:?}");
    change(&flipped, base, |file, _, batches| {
        let batch = batches[batches.len() / 2];
        let at = (batch.position + batch.length / 2) as u64;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        eprintln!("payments-1: byte {at} of {base}.log, {behind} segments behind it");
    });
}

fn victim(demo: &Path, name: &str) -> Victim {
    let dir = ["data1", "data2"]
        .map(|dir| demo.join(dir))
        .into_iter()
        .find(|dir| dir.join(name).is_dir())
        .unwrap();
    let (topic, number) = name.rsplit_once('-').unwrap();
    let points =
        crate::support::checkpoint::read(&dir.join(crate::support::checkpoint::RECOVERY_POINT));
    Victim {
        path: dir.join(name),
        recovery_point: points
            .get(&(topic.to_owned(), number.parse().unwrap()))
            .copied(),
        log_start: None,
        only_last: true,
    }
}

/// Changes a segment without changing its time: a disk leaves no trace either.
fn change(victim: &Victim, base: &str, what: impl FnOnce(&File, u64, &[Batch])) {
    let path = victim.file(base, "log");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let (bytes, batches) = victim.log(base);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    what(&file, bytes.len() as u64, &batches);
    drop(file);
    tree::set_modified(&path, modified);
}
