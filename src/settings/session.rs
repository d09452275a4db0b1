//! krescue's own settings: built-in defaults, the system file, the environment, the command line; later wins.
//!
//! One value is different: `read.only` holds as soon as any layer says so, so that a system-wide file forbids changes
//! whatever the command line says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::policy::read_policy;
use super::{SettingsError, Source, Sourced, parse_rate, read_properties};
use crate::format::properties::Property;
use crate::plan::{Policy, Rule};
use crate::terms::KafkaVersion;

/// The file that holds for a whole host.
pub const SYSTEM_FILE: &str = "/etc/krescue/krescue.properties";

/// The built-in defaults, which are also the documentation of the keys.
const DEFAULTS: &str = include_str!("../../assets/default-settings.properties");

/// What the command line says; `None` and `false` where it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--log-dirs`.
    pub log_dirs: Option<Vec<PathBuf>>,
    /// `--kafka-version`.
    pub kafka_version: Option<KafkaVersion>,
    /// `--topic-config`.
    pub topic_config: Option<PathBuf>,
    /// `--state-dir`.
    pub state_dir: Option<PathBuf>,
    /// `--quarantine`.
    pub quarantine: Option<Quarantine>,
    /// `--threads`.
    pub threads: Option<NonZeroUsize>,
    /// `--rate`, in bytes per second.
    pub rate: Option<u64>,
    /// The switches that are on, with their dashes.
    pub switches: Vec<&'static str>,
}

/// Where cut bytes are copied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quarantine {
    /// Nowhere.
    None,
    /// A dir.
    Dir(PathBuf),
}

impl FromStr for Quarantine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("neither a dir nor \"none\"".to_owned()),
            "none" => Ok(Self::None),
            dir => Ok(Self::Dir(PathBuf::from(dir))),
        }
    }
}

/// The settings of one run, each with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The broker's `server.properties`, if one was named.
    pub config: Option<Sourced<PathBuf>>,
    /// Log dirs that replace those of the configuration.
    pub log_dirs: Option<Sourced<Vec<PathBuf>>>,
    /// The release whose boot is planned for, if one was named.
    pub kafka_version: Option<Sourced<KafkaVersion>>,
    /// A file of topic overrides, if one was named.
    pub topic_config: Option<Sourced<PathBuf>>,
    /// Where plans, jobs and the quarantine are kept; `None` if nobody said and no usual place can be had.
    pub state_dir: Option<Sourced<PathBuf>>,
    /// Where cut bytes are copied to; `None` for the state dir's quarantine.
    pub quarantine: Option<Sourced<Quarantine>>,
    /// Threads that read; `None` for the engine's default.
    pub threads: Option<Sourced<NonZeroUsize>>,
    /// Bytes per second read beside a living broker.
    pub live_read_rate: Sourced<u64>,
    /// Whether nothing may be changed; its source is the first that says so.
    pub read_only: Sourced<bool>,
    /// Whether the dashboard starts armed.
    pub allow_write: Sourced<bool>,
    /// The theme's name or file.
    pub theme: Sourced<String>,
    /// Whether only ASCII is shown.
    pub ascii: Sourced<bool>,
    /// Whether colours are shown.
    pub color: Sourced<bool>,
    /// Whether the terminal is behind a network.
    pub remote: Sourced<bool>,
    /// Who called sudo, if anybody did.
    pub sudo_user: Option<String>,
    /// Client and server of the SSH session, if this is one.
    pub ssh_connection: Option<String>,
    /// What this host's owner forbids; a read-only session is one of its rules.
    pub policy: Policy,
}

impl Settings {
    /// Reads all layers: the defaults, `system_file` if it exists, `env`, `flags`; and the policy in the dir of
    /// `system_file`, which beats them all.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, an unknown key, a value that its key does not take; each names its layer.
    pub fn read(
        system_file: &Path,
        env: impl IntoIterator<Item = (OsString, OsString)>,
        flags: &Flags,
    ) -> Result<Self, SettingsError> {
        let env: BTreeMap<OsString, OsString> = env.into_iter().collect();
        let mut layers = Layers::defaults()?;
        layers.add_file(system_file)?;
        layers.add_env(&env);
        let switched = |name: &'static str, else_: Sourced<bool>| {
            let is_on = flags.switches.contains(&name);
            let flag = is_on.then(|| Sourced::new(true, Source::Flag { name }));
            flag.unwrap_or(else_)
        };
        let read_only = match layers.any_true("read.only")? {
            Some(source) => Sourced::new(true, source),
            None => switched("--read-only", Sourced::new(false, Source::Default)),
        };
        let mut policy = read_policy(system_file.parent().unwrap_or(Path::new("/")));
        if read_only.value && policy.read_only.is_none() {
            let place = read_only.source.to_string();
            policy.read_only = Some(Rule { value: (), place });
        }
        let ruled = |rule: &Option<Rule<PathBuf>>, asked: Option<&PathBuf>| {
            let Some(rule) = rule else { return Ok(None) };
            match asked {
                Some(asked) if *asked != rule.value => Err(SettingsError::Policy {
                    asked: asked.clone(),
                    rule: format!("{} ({})", rule.value.display(), rule.place),
                }),
                _ => Ok(Some(Sourced::new(
                    rule.value.clone(),
                    Source::Policy {
                        place: rule.place.clone(),
                    },
                ))),
            }
        };
        let ruled_state = ruled(&policy.state_dir, flags.state_dir.as_ref())?;
        let none = PathBuf::from("none");
        let asked = flags.quarantine.as_ref().map(|asked| match asked {
            Quarantine::None => &none,
            Quarantine::Dir(dir) => dir,
        });
        let ruled_quarantine = ruled(&policy.quarantine, asked)?;
        let ascii = match layers.parsed("ascii", parse_bool)? {
            Some(said) => said,
            None => ascii_locale(&env),
        };
        let path = |key: &str| layers.text(key).map(|text| text.map(PathBuf::from));
        let version = |text: &str| {
            text.parse()
                .map_err(|_| "not a release such as 4.1.2".to_owned())
        };
        let threads = |text: &str| text.parse().map_err(|_| "not a number from 1".to_owned());
        Ok(Self {
            config: flag("--config", flags.config.as_ref()).or_else(|| path("config")),
            log_dirs: flag("--log-dirs", flags.log_dirs.as_ref()).or_else(|| {
                let text = layers.text("log.dirs")?;
                Some(text.map(|list| super::split_list(&list)))
            }),
            kafka_version: match flag("--kafka-version", flags.kafka_version.as_ref()) {
                None => layers.parsed("kafka.version", version)?,
                given => given,
            },
            topic_config: flag("--topic-config", flags.topic_config.as_ref())
                .or_else(|| path("topic.config")),
            state_dir: ruled_state
                .or_else(|| flag("--state-dir", flags.state_dir.as_ref()))
                .or_else(|| path("state.dir"))
                .or_else(|| super::state_dir::usual(&env)),
            quarantine: match (
                ruled_quarantine,
                flag("--quarantine", flags.quarantine.as_ref()),
            ) {
                (Some(ruled), _) => Some(ruled.map(Quarantine::Dir)),
                (None, None) => layers.parsed("quarantine", str::parse)?,
                (None, given) => given,
            },
            threads: match flag("--threads", flags.threads.as_ref()) {
                None => layers.parsed("threads", threads)?,
                given => given,
            },
            live_read_rate: match flag("--rate", flags.rate.as_ref()) {
                None => layers.required("live.read.rate", parse_rate)?,
                Some(given) => given,
            },
            read_only,
            allow_write: switched("--allow-write", layers.required("allow.write", parse_bool)?),
            theme: layers.required("theme", |text| Ok(text.to_owned()))?,
            ascii: switched("--ascii", ascii),
            color: if_set(first_set(&env, &["NO_COLOR"]), false),
            remote: if_set(first_set(&env, &["SSH_CONNECTION", "SSH_TTY"]), true),
            sudo_user: first_set(&env, &["SUDO_USER"]).map(|user| user.value),
            ssh_connection: first_set(&env, &["SSH_CONNECTION"]).map(|ends| ends.value),
            policy,
        })
    }
}

/// Returns what an option of the command line says.
fn flag<T: Clone>(name: &'static str, value: Option<&T>) -> Option<Sourced<T>> {
    value.map(|value| Sourced::new(value.clone(), Source::Flag { name }))
}

/// Returns the first of these variables that is not empty.
fn first_set(env: &BTreeMap<OsString, OsString>, names: &[&str]) -> Option<Sourced<String>> {
    names.iter().find_map(|name| {
        let value = env.get(&OsString::from(name))?.to_string_lossy();
        let source = Source::Env {
            name: (*name).to_owned(),
        };
        (!value.is_empty()).then(|| Sourced::new(value.into_owned(), source))
    })
}

/// Returns `set` if the variable is set, else its opposite by default.
fn if_set(variable: Option<Sourced<String>>, set: bool) -> Sourced<bool> {
    match variable {
        Some(found) => found.map(|_| set),
        None => Sourced::new(!set, Source::Default),
    }
}

/// Says whether the locale's characters are others than UTF-8; where nothing is said they are taken for UTF-8.
fn ascii_locale(env: &BTreeMap<OsString, OsString>) -> Sourced<bool> {
    match first_set(env, &["LC_ALL", "LC_CTYPE", "LANG"]) {
        Some(locale) => locale.map(|locale| {
            let locale = locale.to_ascii_lowercase();
            !(locale.contains("utf-8") || locale.contains("utf8"))
        }),
        None => Sourced::new(false, Source::Default),
    }
}

/// One layer's values by key.
#[derive(Debug)]
struct Layer {
    values: BTreeMap<String, Sourced<String>>,
}

/// The layers that hold texts, the weakest first.
#[derive(Debug)]
struct Layers(Vec<Layer>);

impl Layers {
    /// Returns the built-in defaults alone.
    fn defaults() -> Result<Self, SettingsError> {
        let path = Path::new("default-settings.properties");
        let values = super::decode_properties(path, DEFAULTS.as_bytes())?
            .entries
            .into_iter()
            .map(|entry| (entry.key, Sourced::new(entry.value, Source::Default)))
            .collect();
        Ok(Self(vec![Layer { values }]))
    }

    /// Returns the keys there are.
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.0
            .first()
            .into_iter()
            .flat_map(|layer| layer.values.keys())
    }

    /// Adds a file, if it exists.
    fn add_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let Some(properties) = read_properties(path)? else {
            return Ok(());
        };
        let mut values = BTreeMap::new();
        for Property { key, value, line } in properties.entries {
            if !self.keys().any(|known| *known == key) {
                return Err(SettingsError::UnknownKey {
                    path: path.to_owned(),
                    key,
                });
            }
            let source = Source::File {
                path: path.to_owned(),
                key: key.clone(),
                line,
            };
            values.insert(key, Sourced::new(value, source));
        }
        self.0.push(Layer { values });
        Ok(())
    }

    /// Adds `KRESCUE_*`. Variables that name no key are not krescue's business.
    fn add_env(&mut self, env: &BTreeMap<OsString, OsString>) {
        let values = self
            .keys()
            .filter_map(|key| {
                let name = format!("KRESCUE_{}", key.replace('.', "_").to_uppercase());
                let value = env.get(&OsString::from(&name))?.to_str()?.to_owned();
                Some((key.clone(), Sourced::new(value, Source::Env { name })))
            })
            .collect();
        self.0.push(Layer { values });
    }

    /// Returns the strongest value of `key` that is not empty.
    fn text(&self, key: &str) -> Option<Sourced<String>> {
        self.0
            .iter()
            .rev()
            .filter_map(|layer| layer.values.get(key))
            .find(|found| !found.value.trim().is_empty())
            .cloned()
            .map(|found| found.map(|text| text.trim().to_owned()))
    }

    /// Returns the strongest value of `key` as `parse` reads it.
    fn parsed<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Sourced<T>>, SettingsError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        parse_value(key, &text, parse).map(Some)
    }

    /// Returns the strongest value of a `key` that has a default.
    fn required<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Sourced<T>, SettingsError> {
        let text = self
            .text(key)
            .unwrap_or_else(|| Sourced::new(String::new(), Source::Default));
        parse_value(key, &text, parse)
    }

    /// Returns the source of the weakest layer in which `key` is true.
    fn any_true(&self, key: &str) -> Result<Option<Source>, SettingsError> {
        for layer in &self.0 {
            let Some(text) = layer.values.get(key) else {
                continue;
            };
            if !text.value.trim().is_empty() && parse_value(key, text, parse_bool)?.value {
                return Ok(Some(text.source.clone()));
            }
        }
        Ok(None)
    }
}

/// Parses one value, or says where it stands and what it should be.
fn parse_value<T>(
    key: &str,
    text: &Sourced<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Sourced<T>, SettingsError> {
    match parse(text.value.trim()) {
        Ok(value) => Ok(Sourced::new(value, text.source.clone())),
        Err(cause) => Err(SettingsError::Value {
            key: key.to_owned(),
            value: text.value.clone(),
            origin: Box::new(text.source.clone()),
            cause,
        }),
    }
}

/// Parses `true` or `false`.
fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("neither true nor false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect()
    }

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("krescue.properties");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn defaults_alone_are_complete() {
        let settings = Settings::read(Path::new("/nowhere"), env(&[]), &Flags::default()).unwrap();
        assert_eq!(settings.live_read_rate.value, 50 << 20);
        assert_eq!(settings.live_read_rate.source, Source::Default);
        assert!(!settings.read_only.value && !settings.allow_write.value);
        assert_eq!(settings.config, None);
        assert!(settings.color.value);
    }

    #[test]
    fn later_layers_win_and_keep_their_source() {
        let (_dir, path) = file("threads = 3\ntheme=light\nstate.dir=/a\n");
        let flags = Flags {
            threads: NonZeroUsize::new(7),
            ..Flags::default()
        };
        let settings = Settings::read(
            &path,
            env(&[
                ("KRESCUE_STATE_DIR", "/b"),
                ("KRESCUE_THREADS", "5"),
                ("NO_COLOR", "1"),
            ]),
            &flags,
        )
        .unwrap();
        let threads = settings.threads.unwrap();
        assert_eq!(
            (threads.value.get(), threads.source.to_string()),
            (7, "--threads".to_owned())
        );
        let state = settings.state_dir.unwrap();
        assert_eq!(state.value, Path::new("/b"));
        assert_eq!(state.source.to_string(), "$KRESCUE_STATE_DIR");
        assert_eq!(settings.theme.value, "light");
        assert!(!settings.color.value);
    }

    #[test]
    fn no_layer_undoes_read_only() {
        let (_dir, path) = file("read.only=true\n");
        let settings = Settings::read(
            &path,
            env(&[("KRESCUE_READ_ONLY", "false")]),
            &Flags::default(),
        )
        .unwrap();
        assert!(settings.read_only.value);
        assert!(
            settings
                .read_only
                .source
                .to_string()
                .starts_with("read.only in ")
        );
    }

    #[test]
    fn the_locale_decides_the_characters_unless_a_setting_does() {
        let ascii = |pairs: &[(&str, &str)]| {
            let settings =
                Settings::read(Path::new("/nowhere"), env(pairs), &Flags::default()).unwrap();
            settings.ascii.value
        };
        assert!(!ascii(&[]));
        assert!(!ascii(&[("LANG", "de_DE.UTF-8")]));
        assert!(ascii(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LC_ALL", "C"), ("KRESCUE_ASCII", "false")]));
    }

    #[test]
    fn a_wrong_value_names_its_place() {
        let (_dir, path) = file("threads=many\n");
        let error = Settings::read(&path, env(&[]), &Flags::default()).unwrap_err();
        assert!(error.to_string().contains("threads in "), "{error}");
        let (_dir, path) = file("thread=1\n");
        let error = Settings::read(&path, env(&[]), &Flags::default()).unwrap_err();
        assert!(matches!(error, SettingsError::UnknownKey { .. }));
    }
}
