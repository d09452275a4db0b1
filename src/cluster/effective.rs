//! Every setting of a topic's logs as text, with the level that set it and what stands behind.

use std::collections::BTreeMap;

use crate::cluster::config_key::{ConfigKey, ConfigUnit};
use crate::cluster::log_config::{ConfigLevels, ConfigMoment, ConfigSource, ToldConfig};

/// A value on one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeveledValue {
    /// The value as it counts for a topic: in milliseconds where a broker's key has hours.
    pub value: String,
    /// The level.
    pub source: ConfigSource,
    /// The key, as it stands on that level.
    pub key: String,
}

/// A setting of a topic's logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The topic's key.
    pub name: String,
    /// The value in force.
    pub in_force: LeveledValue,
    /// What would count without it, the nearest level first; Kafka's default is the last.
    pub behind: Vec<LeveledValue>,
}

/// The settings of all topics: what the broker's levels say once, each topic's overrides, and what the running broker told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsTable {
    base: Vec<EffectiveSetting>,
    overrides: BTreeMap<String, BTreeMap<String, String>>,
    told: BTreeMap<String, BTreeMap<String, ToldConfig>>,
}

impl SettingsTable {
    /// Collects the settings that `levels` give; the `named` and the `told` of the levels are not looked at: `overrides` gives a
    /// topic's own values, and `told` what the running broker has in force for it.
    pub fn new(
        levels: &ConfigLevels<'_>,
        overrides: BTreeMap<String, BTreeMap<String, String>>,
        told: BTreeMap<String, BTreeMap<String, ToldConfig>>,
    ) -> Self {
        let base = ConfigKey::ALL.iter().chain(ConfigKey::OTHERS);
        Self {
            base: base.filter_map(|key| of_broker(*key, levels)).collect(),
            overrides,
            told,
        }
    }

    /// Returns the settings of a topic, those that it overrides first, each part by name. Overrides of a key that krescue
    /// does not know are among them.
    pub fn of(&self, topic: &str) -> Vec<EffectiveSetting> {
        let mut settings = self.base.clone();
        for (key, value) in self.overrides.get(topic).into_iter().flatten() {
            let in_force = LeveledValue {
                value: value.clone(),
                source: ConfigSource::Topic,
                key: key.clone(),
            };
            match settings.iter_mut().find(|setting| setting.name == *key) {
                Some(setting) => {
                    let before = std::mem::replace(&mut setting.in_force, in_force);
                    setting.behind.insert(0, before);
                }
                None => settings.push(EffectiveSetting {
                    name: key.clone(),
                    in_force,
                    behind: Vec::new(),
                }),
            }
        }
        for (key, told) in self.told.get(topic).into_iter().flatten() {
            lay_over(&mut settings, key, told);
        }
        settings.sort_by(|a, b| (a.in_force.source, &a.name).cmp(&(b.in_force.source, &b.name)));
        settings
    }
}

/// Puts what the running broker has in force in the place of what files say; what they say on its level and before it is not so.
fn lay_over(settings: &mut Vec<EffectiveSetting>, key: &str, told: &ToldConfig) {
    let in_force = LeveledValue {
        value: told.value.clone(),
        source: told.source,
        key: key.to_owned(),
    };
    let Some(setting) = settings.iter_mut().find(|setting| setting.name == *key) else {
        settings.push(EffectiveSetting {
            name: key.to_owned(),
            in_force,
            behind: Vec::new(),
        });
        return;
    };
    let is_same = |of: &LeveledValue| (&of.value, of.source) == (&told.value, told.source);
    if is_same(&setting.in_force) {
        // The files name the key of the level too.
        return;
    }
    let before = std::mem::replace(&mut setting.in_force, in_force);
    setting.behind.insert(0, before);
    setting.behind.retain(|of| of.source > told.source);
}

/// Returns what the broker's levels say of a setting; `None` of one that only a topic has, and no default.
fn of_broker(key: ConfigKey, levels: &ConfigLevels<'_>) -> Option<EffectiveSetting> {
    let mut values = Vec::new();
    if let Some((name, unit)) = key.broker.first()
        && levels.moment == ConfigMoment::Running
    {
        let dynamic = |id: Option<i32>| levels.image?.broker_config(id, name);
        let own = levels.broker_id.and_then(|id| dynamic(Some(id)));
        let found = [
            (own, ConfigSource::Broker),
            (dynamic(None), ConfigSource::AllBrokers),
        ];
        values.extend(found.into_iter().filter_map(|(value, source)| {
            Some(LeveledValue {
                value: in_unit(value?, *unit),
                source,
                key: (*name).to_owned(),
            })
        }));
    }
    values.extend(key.broker.iter().filter_map(|(name, unit)| {
        let value = levels.server_properties.get(*name)?;
        Some(LeveledValue {
            value: in_unit(value, *unit),
            source: ConfigSource::Static,
            key: (*name).to_owned(),
        })
    }));
    if !key.default.is_empty() {
        values.push(LeveledValue {
            value: key.default.to_owned(),
            source: ConfigSource::Default,
            key: key.topic.to_owned(),
        });
    }
    let mut values = values.into_iter();
    Some(EffectiveSetting {
        name: key.topic.to_owned(),
        in_force: values.next()?,
        behind: values.collect(),
    })
}

/// Returns a value in the topic's unit; as it stands where it is no number.
fn in_unit(text: &str, unit: ConfigUnit) -> String {
    let text = text.trim();
    let factor = unit.factor();
    let value = text.parse::<i64>().ok().filter(|_| factor != 1);
    value.map_or_else(
        || text.to_owned(),
        |value| value.saturating_mul(factor).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_that_has_a_value_is_told_in_order_and_synonyms_too() {
        let properties: BTreeMap<String, String> = [
            ("log.retention.hours", "2"),
            ("log.retention.minutes", "3"),
            ("log.message.timestamp.type", "LogAppendTime"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        let levels = ConfigLevels {
            told: None,
            image: None,
            broker_id: Some(1),
            named: None,
            server_properties: &properties,
            moment: ConfigMoment::Running,
        };
        let own = [("retention.ms", "9"), ("no.such.key", "x")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let overrides = BTreeMap::from([("t".to_owned(), own.into())]);
        let table = SettingsTable::new(&levels, overrides, BTreeMap::new());
        let settings = table.of("t");
        let of = |name: &str| {
            let mut found = settings.iter().filter(|setting| setting.name == name);
            found.next().unwrap()
        };
        let words =
            |value: &LeveledValue| format!("{} {} {}", value.value, value.source, value.key);
        let retention = of("retention.ms");
        assert_eq!(words(&retention.in_force), "9 topic retention.ms");
        let behind: Vec<String> = retention.behind.iter().map(words).collect();
        assert_eq!(
            behind,
            [
                "180000 server.properties log.retention.minutes",
                "7200000 server.properties log.retention.hours",
                "604800000 default retention.ms"
            ]
        );
        assert_eq!(
            words(&of("message.timestamp.type").in_force),
            "LogAppendTime server.properties log.message.timestamp.type"
        );
        // What the topic sets comes first, and so does a key that nobody knows.
        assert_eq!(settings[0].name, "no.such.key");
        assert_eq!(settings[1].name, "retention.ms");
        assert!(
            !settings
                .iter()
                .any(|of| of.name == "internal.segment.bytes")
        );
        let other = table.of("u");
        let retention = other.iter().find(|of| of.name == "retention.ms").unwrap();
        assert_eq!(retention.in_force.source, ConfigSource::Static);
    }

    #[test]
    fn what_the_running_broker_told_counts_before_what_files_say() {
        let properties = BTreeMap::from([("log.retention.hours".to_owned(), "2".to_owned())]);
        let levels = ConfigLevels {
            told: None,
            image: None,
            broker_id: Some(1),
            named: None,
            server_properties: &properties,
            moment: ConfigMoment::Running,
        };
        let own = [("retention.ms", "9"), ("retention.bytes", "5")];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let overrides = BTreeMap::from([("t".to_owned(), own.into())]);
        let told = [
            // The topic's own value was taken away, and the broker's is set while it runs.
            ("retention.ms", "60000", ConfigSource::Broker),
            ("retention.bytes", "5", ConfigSource::Topic),
            ("new.key", "1", ConfigSource::Default),
        ];
        let told = told.map(|(key, value, source)| {
            let value = value.to_owned();
            (key.to_owned(), ToldConfig { value, source })
        });
        let told = BTreeMap::from([("t".to_owned(), told.into())]);
        let settings = SettingsTable::new(&levels, overrides, told).of("t");
        let of = |name: &str| {
            let setting = settings.iter().find(|of| of.name == name).unwrap();
            let values = std::iter::once(&setting.in_force).chain(&setting.behind);
            let words = values.map(|of| format!("{} {}", of.value, of.source));
            words.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            of("retention.ms"),
            "60000 dynamic broker, 7200000 server.properties, 604800000 default"
        );
        assert_eq!(of("retention.bytes"), "5 topic, -1 default");
        assert_eq!(of("new.key"), "1 default");
    }
}
