//! The recorded cluster on the screen that shows it again.

use krescue::app::recording::{Fact, Recorded};
use krescue::app::state::{ClusterFacts, Setup, Subject};
use krescue::app::text::count;
use krescue::app::{Event, PaneId};
use krescue::cli::Recording;
use krescue::demo::cluster_recording;
use krescue::observe::cluster::{Cause, InSyncIn};
use krescue::tui::Charset;

use super::session::{SIZES, Session, look, setup};

fn recording() -> Recording {
    let recording = Recording::read(cluster_recording(), "the demo").unwrap();
    assert!(!recording.is_torn && recording.unknown == 0);
    assert!(recording.is_of_a_cluster());
    recording
}

fn looks(recording: &Recording) -> Vec<&ClusterFacts> {
    let facts = recording.facts.iter().map(|recorded| &recorded.fact);
    let looks = facts.filter_map(|fact| match fact {
        Fact::Cluster(facts) => Some(&**facts),
        _ => None,
    });
    looks.collect()
}

/// Returns how many records the host's boot will cut, by a look.
fn will_cut(look: &ClusterFacts) -> u64 {
    look.forecasts.values().map(|it| it.forecast.records).sum()
}

#[test]
fn a_follower_falls_behind_and_comes_back_in_the_recorded_cluster() {
    let recording = recording();
    let looks = looks(&recording);
    let out = |look: &&ClusterFacts| look.sums().out_of_sync;
    let first_out = looks.iter().position(|look| out(look) > 0).unwrap();
    let last_out = looks.iter().rposition(|look| out(look) > 0).unwrap();
    assert!(first_out > 0, "it begins in sync");
    assert!(last_out + 1 < looks.len(), "it ends in sync");
    assert!(looks[first_out..=last_out].iter().all(|look| out(look) > 0));
    // It does not answer before the controller fences it; what it will cut is known while it is down.
    let silent = |look: &&ClusterFacts| look.brokers.iter().any(|(_, why)| why.is_some());
    assert!(looks.iter().position(silent).unwrap() <= first_out);
    let cuts: Vec<u64> = looks.iter().map(|look| will_cut(look)).collect();
    let most = *cuts.iter().max().unwrap();
    assert!(most > 0, "{cuts:?}");
    assert!(cuts.iter().all(|cut| [0, most].contains(cut)), "{cuts:?}");
    // Held back by a throttle, it comes nearer, with an end time.
    let throttled = looks.iter().flat_map(|look| &look.rows).filter(|row| {
        row.causes
            .iter()
            .any(|cause| matches!(cause, Cause::Throttled { .. }))
            && matches!(row.in_sync_in, InSyncIn::Seconds(_))
    });
    assert!(throttled.count() > 10);
    let quorums = looks.iter().filter(|look| look.quorum.is_some()).count();
    assert!(quorums * 10 > looks.len() * 9);
}

#[test]
fn the_screen_shows_the_recorded_cluster_as_it_was_seen() {
    let recording = recording();
    let most = looks(&recording).into_iter().map(will_cut).max().unwrap();
    let setup = Setup {
        subject: Subject::Recording,
        host: recording.header.host.clone(),
        now: recording.header.at,
        ..setup()
    };
    let mut session = Session::with(setup, look(Charset::Unicode, true));
    session.type_keys("5");
    assert_eq!(session.state.view.pane, PaneId::Replicas);
    let mut told: Vec<String> = vec![
        "all in sync".to_owned(),
        "does not answer".to_owned(),
        "its broker is down, or fenced by the controller".to_owned(),
        format!("will cut {} records", count(most)),
        "booting".to_owned(),
        "a replication throttle of 3.00 MiB/s is set".to_owned(),
        "the last in ~".to_owned(),
        "all in sync".to_owned(),
    ];
    told.reverse();
    for Recorded { at, fact } in recording.facts {
        session.event(Event::Tick(at));
        session.event(Recorded { at, fact }.into_event());
        let screen = session.screen(200, 50);
        while told.last().is_some_and(|next| screen.contains(next)) {
            told.pop();
        }
        for (width, height) in SIZES {
            session.screen(width, height);
        }
    }
    assert!(told.is_empty(), "not on screen: {told:?}");
    let screen = session.screen(200, 50);
    assert!(screen.contains("REPLAY"), "{screen}");
    assert!(screen.contains("quorum: controller"), "{screen}");
    // Nothing can be done in it.
    session.take();
    session.type_keys("x");
    assert!(session.take_acts().is_empty());
}
