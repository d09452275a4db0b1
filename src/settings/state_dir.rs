//! Where plans, jobs and the quarantine are kept.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statfs};

use super::{SettingsError, Source, Sourced};

/// Where a root shell keeps its state.
const SYSTEM_STATE: &str = "/var/lib/krescue";
/// `f_type` of a tmpfs.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// `f_type` of a container's own layer.
const OVERLAYFS_MAGIC: i64 = 0x794c_7630;

/// Returns the usual state dir: XDG's, the system's if it can be written, the home's.
pub(super) fn usual(env: &BTreeMap<OsString, OsString>) -> Option<Sourced<PathBuf>> {
    let var = |name: &str| {
        env.get(&OsString::from(name))
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(xdg) = var("XDG_STATE_HOME") {
        let source = Source::Env {
            name: "XDG_STATE_HOME".to_owned(),
        };
        return Some(Sourced::new(xdg.join("krescue"), source));
    }
    let system = Path::new(SYSTEM_STATE);
    if is_writable(system) {
        return Some(Sourced::new(system.to_owned(), Source::Default));
    }
    let home = var("HOME")?;
    let source = Source::Env {
        name: "HOME".to_owned(),
    };
    Some(Sourced::new(home.join(".local/state/krescue"), source))
}

/// Says whether files can be made in `dir`, or `dir` itself and its parents where it is missing; changes nothing.
pub fn is_writable(dir: &Path) -> bool {
    // The last ancestor of a relative path is no path at all.
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    dir.ancestors()
        .find(|place| place.exists())
        .is_some_and(|place| access(place, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

/// Refuses a state dir inside a log dir: Kafka does not start over a dir that it does not know.
///
/// # Errors
///
/// [`SettingsError::StateInLogDir`].
pub fn check_state_dir(
    state: &Sourced<PathBuf>,
    log_dirs: &[PathBuf],
) -> Result<(), SettingsError> {
    let resolved = resolve(&state.value);
    for log_dir in log_dirs {
        if resolved.starts_with(resolve(log_dir)) {
            return Err(SettingsError::StateInLogDir {
                state: state.value.clone(),
                log_dir: log_dir.clone(),
                origin: state.source.clone(),
            });
        }
    }
    Ok(())
}

/// Returns why what is kept in `state` may not outlive a restart, if so.
pub fn state_dir_warning(state: &Path) -> Option<String> {
    let absolute = std::path::absolute(state).ok()?;
    let existing = absolute.ancestors().find(|dir| dir.exists())?;
    let place = match file_system(existing)? {
        TMPFS_MAGIC => "a tmpfs: plans, jobs and the quarantine are gone after a reboot",
        OVERLAYFS_MAGIC => {
            "a container's own layer: plans, jobs and the quarantine are gone with the container"
        }
        _ => return None,
    };
    Some(format!("the state dir {} lies on {place}", state.display()))
}

/// Says whether `dir` lies in memory.
pub fn is_tmpfs(dir: &Path) -> bool {
    file_system(dir) == Some(TMPFS_MAGIC)
}

/// Returns the magic number of a dir's file system.
fn file_system(dir: &Path) -> Option<i64> {
    #[expect(
        clippy::useless_conversion,
        reason = "the field's width depends on the target"
    )]
    let kind = i64::try_from(statfs(dir).ok()?.f_type).ok();
    kind
}

/// Returns `path` with the links of what exists of it resolved.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for existing in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing)) {
            return real.join(rest);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_comes_first() {
        let env = BTreeMap::from([
            (OsString::from("XDG_STATE_HOME"), OsString::from("/x")),
            (OsString::from("HOME"), OsString::from("/h")),
        ]);
        assert_eq!(usual(&env).unwrap().value, Path::new("/x/krescue"));
    }

    #[test]
    fn a_state_dir_inside_a_log_dir_is_refused_through_a_link_too() {
        let tmp = tempfile::tempdir().unwrap();
        let data = tmp.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let link = tmp.path().join("link");
        std::os::unix::fs::symlink(&data, &link).unwrap();
        let state = Sourced::new(link.join("not/yet/there"), Source::Default);
        assert!(check_state_dir(&state, std::slice::from_ref(&data)).is_err());
        let beside = Sourced::new(tmp.path().join("data-state"), Source::Default);
        assert!(check_state_dir(&beside, &[data]).is_ok());
    }
}
