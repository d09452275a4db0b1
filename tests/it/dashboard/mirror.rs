//! The mirror pane over a golden pair of clusters.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossterm::event::KeyCode;
use krescue::app::state::{MirrorPage, MirrorRow, MirrorWorld};
use krescue::app::{Effect, Event};
use krescue::disk::RealStorage;
use krescue::engine::{FactsRequest, read_cluster_facts};
use krescue::mirror::{Facts, MirrorProperties, Thinning, known_flows};
use krescue::terms::Timestamp;

use super::fixtures::listed;
use super::screens::keep;
use super::session::Session;

/// 94 s after the golden clusters were stopped.
const READ_AT: Timestamp = Timestamp(1_796_047_300_000);

fn world() -> MirrorWorld {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mirror");
    let packed = fs::read(golden.join("active-active-4.3.1.tar.zst")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    krescue::disk::unpack(&packed, folder.path()).unwrap();
    let mut facts = Facts::default();
    let text = fs::read(folder.path().join("mm2.properties")).unwrap();
    let properties = krescue::format::properties::Properties::parse(&text).unwrap();
    facts.properties = Some(MirrorProperties::new(
        "/etc/kafka/mm2.properties",
        &properties,
        &text,
    ));
    for alias in ["primary", "secondary"] {
        let dirs: Vec<PathBuf> = vec![folder.path().join(alias)];
        let request = FactsRequest {
            log_dirs: &dirs,
            host: "kafka-07",
            now: READ_AT,
            thinning: Thinning::Cursor,
            counter: &AtomicU64::new(0),
        };
        let mut cluster = read_cluster_facts(&RealStorage, request).unwrap();
        cluster.sources[0].places = vec![format!("/srv/{alias}/data1")];
        facts.clusters.insert(alias.to_owned(), cluster);
    }
    MirrorWorld {
        words: ["--mm2", "/etc/kafka/mm2.properties"]
            .map(str::to_owned)
            .to_vec(),
        ..MirrorWorld::new(&facts, &known_flows(&facts, None), None)
    }
}

/// A session that has read both clusters, two seconds ago.
fn read() -> Session {
    let mut session = listed();
    session.event(Event::Tick(Timestamp(READ_AT.0 + 2_000)));
    session.type_keys("6");
    session.event(Event::Mirror(Ok(Arc::new(world()))));
    session
}

/// Returns the group and the partition under the cursor.
fn selected(session: &mut Session) -> (String, String) {
    session.state.refresh();
    match session.state.view.mirror.selected() {
        Some(MirrorRow::Group(group, topic, partition)) => {
            (group.clone(), format!("{topic}-{partition}"))
        }
        Some(MirrorRow::Partition(topic, partition)) => {
            (String::new(), format!("{topic}-{partition}"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_mirror_from_the_flows_to_the_groups() {
    let mut session = listed();
    session.type_keys("6");
    keep("mirror-unread", &mut session);
    session.type_keys("r");
    assert!(session.state.view.mirror.reading);
    assert!(session.take_acts().contains(&Effect::ReadMirror));
    session.type_keys("r");
    assert!(!session.take_acts().contains(&Effect::ReadMirror));

    let mut session = read();
    keep("mirror-flows", &mut session);
    session.type_keys("jjj");
    keep("mirror-lint", &mut session);
    session.type_keys("g\n");
    keep("mirror-partitions", &mut session);
    session.type_keys("/sensor\n\n");
    let page = session.state.view.mirror.page.clone();
    assert!(
        matches!(&page, MirrorPage::Groups(name, Some(topic)) if name.source == "primary" && topic.starts_with("sensor"))
    );
    assert!(
        session.state.view.mirror.filter.is_active(),
        "the filter stays until Esc"
    );
    session.press(KeyCode::Esc);
    keep("mirror-groups", &mut session);
    let before = selected(&mut session).1;
    session.press(KeyCode::Esc);
    assert_eq!(
        selected(&mut session).1,
        before,
        "out to where it was entered"
    );
    session.press(KeyCode::Esc);
    assert_eq!(session.state.view.mirror.page, MirrorPage::Flows);
    session.press(KeyCode::Esc);
    assert!(session.screen(120, 32).contains("overview"));
}

#[test]
fn rows_are_sorted_and_hidden_and_the_cursor_stays_on_its_row() {
    let mut session = read();
    session.type_keys(":failover\n");
    session.type_keys("jjj");
    let here = selected(&mut session);
    session.type_keys(":sort again\n");
    assert_eq!(selected(&mut session), here);
    let again = |session: &mut Session| -> Vec<u64> {
        session.state.refresh();
        let Some(Ok(world)) = &session.state.world.mirror else {
            panic!("nothing was read")
        };
        let order = session.state.view.mirror.order().iter();
        let positions = &world.flows[0].positions;
        order
            .map(|index| positions[*index].read_again.unwrap_or(u64::MAX))
            .collect()
    };
    let down = again(&mut session);
    assert!(
        down.is_sorted_by(|a, b| a >= b) && down.first() > down.last(),
        "{down:?}"
    );
    session.type_keys("o");
    let mut up = again(&mut session);
    up.reverse();
    assert_eq!(up.len(), down.len());
    assert!(up.is_sorted_by(|a, b| a >= b), "{up:?}");
    assert_eq!(selected(&mut session), here);
    let all = down.len();
    session.type_keys(&format!("/!^{}$\n", here.0));
    session.state.refresh();
    assert!(session.state.view.mirror.order().len() < all);
    assert_ne!(selected(&mut session).0, here.0);
    session.press(KeyCode::Esc);
    session.state.refresh();
    assert_eq!(session.state.view.mirror.order().len(), all);
    session.type_keys(":sort nonsense\n");
    assert!(
        session
            .screen(200, 50)
            .contains("no column is named nonsense")
    );
}

#[test]
fn failover_by_name_goes_to_the_groups_of_the_flow() {
    let mut session = read();
    session.type_keys(":failover\n");
    keep("mirror-failover", &mut session);
    assert!(matches!(
        session.state.view.mirror.page,
        MirrorPage::Groups(_, None)
    ));
    session.type_keys("y");
    let screen = session.screen(200, 50);
    let line = "krescue mirror failover 'primary->secondary' --csv positions --mm2 /etc/kafka/mm2.properties";
    assert!(screen.contains(line), "{screen}");

    let mut session = listed();
    session.event(Event::Mirror(Err(
        "cannot read cluster \"primary\"".to_owned()
    )));
    session.type_keys(":failover\n");
    assert!(session.take_acts().contains(&Effect::ReadMirror));
}
