//! What every command needs: settings, clock, host.

use std::path::{Path, PathBuf};

use super::args::{GlobalArgs, MirrorSources};
use super::{CliError, clock};
use crate::disk::forbid_changes;
use crate::engine::Who;
use crate::settings::{Flags, Quarantine, SYSTEM_FILE, Settings, Sourced, check_state_dir};
use crate::terms::Timestamp;

/// The settings of this run and where it runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// All settings with their sources.
    pub settings: Settings,
    /// The clock for verdicts and producer expiry.
    pub now: Timestamp,
    /// Whether `now` was given; else it is the wall clock at the start.
    pub now_given: bool,
    /// Whose log dirs these are.
    pub whose: Whose,
    /// The host's name.
    pub host: String,
    /// What the mirror pane is to know from; this broker's log dirs where nothing is named.
    pub mirror: MirrorSources,
    /// Brokers of the living cluster, as given.
    pub bootstrap: Option<String>,
    /// A client's configuration for it.
    pub command_config: Option<PathBuf>,
}

/// Whose log dirs a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// A broker's.
    Broker,
    /// The demo's, whose clock stands by their data.
    Demo,
}

impl Context {
    /// Reads the settings; `flags` are those of the command.
    ///
    /// # Errors
    ///
    /// A settings file or a value that cannot be used.
    pub fn read(global: &GlobalArgs, flags: Flags) -> Result<Self, CliError> {
        let mut switches = flags.switches;
        for (on, name) in [
            (global.read_only, "--read-only"),
            (global.allow_write, "--allow-write"),
            (global.ascii, "--ascii"),
        ] {
            if on {
                switches.push(name);
            }
        }
        let flags = Flags {
            config: global.config.clone(),
            log_dirs: global.log_dirs.clone(),
            kafka_version: global.kafka_version,
            topic_config: global.topic_config.clone(),
            state_dir: global.state_dir.clone(),
            threads: global.threads,
            switches,
            ..flags
        };
        let settings = Settings::read(Path::new(SYSTEM_FILE), std::env::vars_os(), &flags)?;
        let this = Self {
            settings,
            now: global.now.unwrap_or_else(clock::now),
            now_given: global.now.is_some(),
            whose: Whose::Broker,
            host: host_name(),
            mirror: MirrorSources::default(),
            bootstrap: global.bootstrap.clone(),
            command_config: global.command_config.clone(),
        };
        if let Some(why) = this.forbidden() {
            forbid_changes(&why);
        }
        Ok(this)
    }

    /// Returns the state dir.
    ///
    /// # Errors
    ///
    /// Nobody named one, and no usual place can be had.
    pub fn state_dir(&self) -> Result<&Sourced<PathBuf>, CliError> {
        let dir = self.settings.state_dir.as_ref();
        Ok(dir.ok_or(crate::settings::SettingsError::NoStateDir)?)
    }

    /// Returns where cut bytes are copied to; `None` for nowhere.
    ///
    /// # Errors
    ///
    /// It lies inside a log dir.
    pub fn quarantine(&self, log_dirs: &[PathBuf]) -> Result<Option<PathBuf>, CliError> {
        let place = match &self.settings.quarantine {
            Some(place) => place.clone(),
            None => match &self.settings.state_dir {
                Some(dir) => dir
                    .clone()
                    .map(|dir| Quarantine::Dir(dir.join("quarantine"))),
                None => return Ok(None),
            },
        };
        let Quarantine::Dir(dir) = place.value else {
            return Ok(None);
        };
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        check_state_dir(&Sourced::new(dir.clone(), place.source), log_dirs)?;
        Ok(Some(dir))
    }

    /// Returns who runs this process, for the audit.
    pub fn who(&self) -> Who {
        let uid = nix::unistd::getuid();
        let user = nix::unistd::User::from_uid(uid).ok().flatten();
        let terminal = std::fs::read_link("/proc/self/fd/0")
            .ok()
            .filter(|path| path.starts_with("/dev/pts") || path.starts_with("/dev/tty"));
        Who {
            user: user.map_or_else(|| format!("uid {uid}"), |user| user.name),
            terminal: terminal.map(|path| path.display().to_string()),
            sudo_user: self.settings.sudo_user.clone(),
            ssh_connection: self.settings.ssh_connection.clone(),
            host: self.host.clone(),
        }
    }

    /// Returns why this session may change nothing, if so.
    pub fn forbidden(&self) -> Option<String> {
        self.settings.policy.forbids_acting()
    }
}

/// Returns the host's name, `?` where it cannot be told.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "?".to_owned())
}
