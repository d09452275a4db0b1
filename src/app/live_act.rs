//! Acts on the living cluster from the panes: what they are about, how they are typed, why they are refused now.

use crate::plan::{Cap, LiveWish, RecordsTo, parse_rate, parse_size, parse_topic_setting};
use crate::terms::{Offset, Timestamp, TopicPartition};

use super::act::{Act, ActItem};
use super::action::PaneId;
use super::state::{HostKey, State};

/// What is selected, as far as a living cluster knows it too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LiveSubject {
    /// The topic.
    pub(super) topic: Option<String>,
    /// The partition.
    pub(super) partition: Option<TopicPartition>,
    /// The broker that holds the selected replica.
    pub(super) broker: Option<i32>,
    /// Whether that replica is being moved; `None` if nobody said.
    pub(super) moves: Option<bool>,
}

/// Returns what the pane in front has selected.
fn subject(state: &State) -> LiveSubject {
    let here = state
        .shown()
        .broker
        .as_ref()
        .and_then(|broker| broker.node_id);
    let of_partition = |partition: TopicPartition| LiveSubject {
        topic: Some(partition.topic.clone()),
        partition: Some(partition),
        broker: here,
        moves: None,
    };
    match state.view.pane {
        PaneId::Replicas => {
            let facts = state.shown().cluster.facts.as_ref();
            let row = facts.and_then(|facts| {
                let (_, index) = state.view.replicas.cursor(facts)?;
                facts.rows.get(index)
            });
            row.map_or_else(LiveSubject::default, |row| LiveSubject {
                broker: Some(row.broker),
                moves: Some(row.moving.is_some()),
                ..of_partition(row.partition.clone())
            })
        }
        PaneId::Segments => {
            let view = &state.view.segments;
            let facts = state.shown().retention.as_ref();
            let open = facts.and_then(|facts| view.open_log(facts));
            if let Some((_, log)) = open {
                return of_partition(log.facts.topic_partition.clone());
            }
            let topic = match (&view.host_selected, facts) {
                (Some(HostKey::Topic(topic)), _) => Some(topic.clone()),
                (Some(HostKey::Log(key)), Some(facts)) => {
                    let mut logs = facts.host.logs.iter();
                    let log = logs.find(|log| super::state::log_key(log) == *key);
                    return log.map_or_else(LiveSubject::default, |log| {
                        of_partition(log.facts.topic_partition.clone())
                    });
                }
                _ => None,
            };
            LiveSubject {
                topic,
                broker: here,
                ..LiveSubject::default()
            }
        }
        _ => state
            .selected_log()
            .and_then(|row| parse_partition(&row.dir_name))
            .map_or_else(LiveSubject::default, of_partition),
    }
}

/// Returns what a typed command wishes of the living cluster; `None` if it is no such command.
pub(super) fn parse(name: &str, words: &[&str], state: &State) -> Option<Result<LiveWish, String>> {
    let subject = subject(state);
    Some(match name {
        "retention" => retention(words, subject),
        "delete-records" => delete_records(words, subject),
        "move" => move_replica(words, subject),
        "quota" => quota(words),
        "cordon" => cordon(words, &subject),
        _ => return None,
    })
}

fn retention(words: &[&str], subject: LiveSubject) -> Result<LiveWish, String> {
    const VERBS: [&str; 3] = ["set", "reset", "restore"];
    let (topic, words) = match words {
        [verb, ..] if VERBS.contains(verb) => (subject.topic, words),
        [topic, rest @ ..] => (Some((*topic).to_owned()), rest),
        [] => (None, words),
    };
    let topic = topic.ok_or("no topic is selected: name it first")?;
    match words {
        ["restore"] => Ok(LiveWish::Restore { topic }),
        ["set", pairs @ ..] if !pairs.is_empty() => Ok(LiveWish::Configs {
            topic,
            set: pairs
                .iter()
                .map(|pair| parse_topic_setting(pair))
                .collect::<Result<_, _>>()?,
            reset: Vec::new(),
        }),
        ["reset", keys @ ..] if !keys.is_empty() => Ok(LiveWish::Configs {
            topic,
            set: Vec::new(),
            reset: keys.iter().map(|key| (*key).to_owned()).collect(),
        }),
        _ => Err("say what: set KEY=VALUE.., reset KEY.. or restore".to_owned()),
    }
}

fn delete_records(words: &[&str], subject: LiveSubject) -> Result<LiveWish, String> {
    let (partition, words) = named(words, &["to-offset", "to-time", "free"], subject)?;
    let to = match words {
        ["to-offset", offset] => {
            let offset = offset
                .replace(',', "")
                .parse()
                .ok()
                .filter(|offset| *offset >= 0);
            RecordsTo::Offset(Offset(offset.ok_or("not an offset")?))
        }
        ["to-time", time] => RecordsTo::Time(parse_time(time)?),
        ["free", size] => RecordsTo::Free(parse_size(size)?),
        _ => return Err("say up to where: to-offset N, to-time TIME or free SIZE".to_owned()),
    };
    Ok(LiveWish::DeleteRecords { partition, to })
}

fn move_replica(words: &[&str], subject: LiveSubject) -> Result<LiveWish, String> {
    let broker = subject.broker;
    let (partition, words) = named(words, &["to", "cancel"], subject)?;
    let broker = broker.ok_or("no broker is known whose replica it is")?;
    let to = match words {
        ["to", dir] => Some((*dir).to_owned()),
        ["cancel"] => None,
        _ => return Err("say where: to DIR, or cancel".to_owned()),
    };
    Ok(LiveWish::Move {
        partition,
        broker,
        to,
    })
}

fn quota(words: &[&str]) -> Result<LiveWish, String> {
    let (cap, client) = match words {
        ["none", client @ ..] => (Cap::None, client),
        ["restore", client @ ..] => (Cap::Restore, client),
        [rate, client @ ..] => (Cap::Rate(parse_rate(rate)?), client),
        [] => return Err("say how much: RATE, none or restore".to_owned()),
    };
    let client_id = match client {
        [] => None,
        [client] => Some((*client).to_owned()),
        _ => return Err("one client at a time".to_owned()),
    };
    Ok(LiveWish::Quota { client_id, cap })
}

fn cordon(words: &[&str], subject: &LiveSubject) -> Result<LiveWish, String> {
    let broker = subject
        .broker
        .ok_or("no broker is known whose log dir it is")?;
    let (dir, on) = match words {
        [dir] => (*dir, true),
        [dir, "lift"] => (*dir, false),
        _ => return Err("say which: DIR, or DIR lift".to_owned()),
    };
    Ok(LiveWish::Cordon {
        broker,
        dir: dir.to_owned(),
        on,
    })
}

/// Returns the partition that is named before one of `verbs`, else the selected one.
fn named<'a>(
    words: &'a [&'a str],
    verbs: &[&str],
    subject: LiveSubject,
) -> Result<(TopicPartition, &'a [&'a str]), String> {
    match words {
        [name, rest @ ..] if !verbs.contains(name) => {
            let partition = parse_partition(name);
            Ok((
                partition.ok_or_else(|| format!("{name} is no partition"))?,
                rest,
            ))
        }
        words => {
            let none = "no partition is selected: name it first";
            Ok((subject.partition.ok_or(none)?, words))
        }
    }
}

fn parse_partition(name: &str) -> Option<TopicPartition> {
    let (topic, number) = name.rsplit_once('-')?;
    let number: i32 = number.parse().ok().filter(|number| *number >= 0)?;
    (!topic.is_empty()).then(|| TopicPartition::new(topic, number))
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Some(ms) = text.parse().ok().filter(|ms| *ms >= 0) {
        return Ok(Timestamp(ms));
    }
    let time: Result<jiff::Timestamp, _> = text.parse();
    time.map(|time| Timestamp(time.as_millisecond()))
        .map_err(|_| {
            "neither RFC 3339 (2026-11-30T14:02:31Z) nor milliseconds since 1970".to_owned()
        })
}

/// Returns the acts on the selected thing, in the order of the menu.
pub(super) fn items(state: &State) -> Vec<ActItem> {
    let subject = subject(state);
    let mut items = Vec::new();
    let mut add = |letter, act: Act, text: String, class| {
        items.push(ActItem {
            letter,
            refused: refusal(state, &act),
            act,
            text,
            class,
        });
    };
    let ask = |line: String| Act::AskLive(line);
    if let Some(topic) = &subject.topic {
        if let Some(tried) = tried(state) {
            let wish = LiveWish::Configs {
                topic: topic.clone(),
                set: tried,
                reset: Vec::new(),
            };
            let text = format!("apply live what is tried on {topic}");
            add('x', Act::Live(wish), text, "class by plan");
        }
        let line = format!("retention {topic} set retention.ms=");
        add(
            'i',
            ask(line),
            format!("set retention of {topic}, live"),
            "class by plan",
        );
        let wish = LiveWish::Restore {
            topic: topic.clone(),
        };
        let text = format!("put back the old retention of {topic}");
        add('o', Act::Live(wish), text, "class by plan");
    }
    if let Some(partition) = &subject.partition {
        let line = format!("delete-records {partition} to-offset ");
        add(
            'z',
            ask(line),
            format!("delete records of {partition}, live"),
            "class C",
        );
        if let Some(broker) = subject.broker {
            let line = format!("move {partition} to ");
            let text = format!("move {partition} on broker {broker} to a dir");
            add('v', ask(line), text, "class A");
            let wish = LiveWish::Move {
                partition: partition.clone(),
                broker,
                to: None,
            };
            let text = format!("end the move of {partition} on broker {broker}");
            add('y', Act::Live(wish), text, "class A");
        }
    }
    add(
        'q',
        ask("quota ".to_owned()),
        "cap the writers: bytes a second".to_owned(),
        "class A",
    );
    if let Some(broker) = subject.broker {
        let text = format!("cordon a log dir of broker {broker}");
        add('h', ask("cordon ".to_owned()), text, "class A");
    }
    items
}

/// Returns the limits that are tried on the segments pane, as settings of a topic.
fn tried(state: &State) -> Option<Vec<(String, String)>> {
    if state.view.pane != PaneId::Segments {
        return None;
    }
    let (wish, error) = state.view.segments.what_if.wish();
    let ms = wish
        .retention_ms
        .map(|ms| ("retention.ms".to_owned(), ms.to_string()));
    let bytes = wish.retention_bytes;
    let bytes = bytes.map(|bytes| ("retention.bytes".to_owned(), bytes.to_string()));
    let all: Vec<_> = ms.into_iter().chain(bytes).collect();
    (error.is_none() && !all.is_empty()).then_some(all)
}

/// Returns why an act on the living cluster cannot be planned now; `None` if it can.
pub(super) fn refusal(state: &State, act: &Act) -> Option<String> {
    let world = &state.world;
    if let Some(work) = &world.live_work {
        return Some(format!("{} is under way", work.what));
    }
    if let Some((_, cause)) = &world.cluster.lost {
        return Some(format!("no broker answers: {cause}"));
    }
    match act {
        Act::Live(LiveWish::Restore { topic }) => {
            let known = world
                .in_force
                .iter()
                .any(|kept| kept.topic() == Some(topic));
            (!known).then(|| "no old value of it is kept here".to_owned())
        }
        Act::Live(LiveWish::Move { to: None, .. }) if subject(state).moves == Some(false) => {
            Some("it is not being moved".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> LiveSubject {
        LiveSubject {
            topic: Some("orders".to_owned()),
            partition: Some(TopicPartition::new("orders", 7)),
            broker: Some(3),
            moves: Some(false),
        }
    }

    #[test]
    fn what_is_selected_need_not_be_named() {
        let set = |words: &[&str]| retention(words, subject()).map(|wish| wish.words());
        let line = "retention orders --set retention.ms=3600000".to_owned();
        assert_eq!(set(&["set", "retention.ms=1h"]), Ok(line));
        let line = "retention clicks --reset retention.ms".to_owned();
        assert_eq!(set(&["clicks", "reset", "retention.ms"]), Ok(line));
        assert_eq!(
            set(&["restore"]),
            Ok("retention orders --restore".to_owned())
        );
        for words in [
            &["set"][..],
            &["clicks"],
            &[],
            &["set", "retention.ms=soon"],
        ] {
            assert!(set(words).is_err(), "{words:?}");
        }
        let delete = |words: &[&str]| delete_records(words, subject()).map(|wish| wish.words());
        let line = "delete-records orders-7 --free 1073741824".to_owned();
        assert_eq!(delete(&["free", "1GiB"]), Ok(line));
        let line = "delete-records a-b-1 --to-offset 12000".to_owned();
        assert_eq!(delete(&["a-b-1", "to-offset", "12,000"]), Ok(line));
        assert!(delete(&["to-offset", "-1"]).is_err());
        let move_it = |words: &[&str]| move_replica(words, subject()).map(|wish| wish.words());
        assert_eq!(
            move_it(&["to", "/d2"]),
            Ok("move orders-7 --to /d2 --broker 3".to_owned())
        );
        assert_eq!(
            move_it(&["cancel"]),
            Ok("move orders-7 --cancel --broker 3".to_owned())
        );
        assert!(retention(&["set", "a.ms=1"], LiveSubject::default()).is_err());
    }
}
