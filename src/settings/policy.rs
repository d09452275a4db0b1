//! The host's policy: `/etc/krescue/policy.toml` and `/etc/krescue/policy.d/*.toml`. All of them hold; none undoes another.
//!
//! ```toml
//! read_only = true                      # nothing may be changed
//! forbid_yes_to_all = true              # each plan must be shown and named, or typed
//! forbid_like_kafka = true              # no good record goes, even where Kafka would drop it
//! forbid_classes = ["C"]                # of A, B, C
//! state_dir = "/var/lib/krescue"
//! quarantine_dir = "/srv/quarantine"
//! ```

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::plan::{Class, Policy, Rule};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    read_only: Option<Spanned<bool>>,
    forbid_yes_to_all: Option<Spanned<bool>>,
    forbid_like_kafka: Option<Spanned<bool>>,
    #[serde(default)]
    forbid_classes: Vec<Spanned<Class>>,
    state_dir: Option<Spanned<PathBuf>>,
    quarantine_dir: Option<Spanned<PathBuf>>,
}

/// Reads the policy in `dir`; a file that cannot be read or used makes a policy that forbids to act and says why.
pub(super) fn read_policy(dir: &Path) -> Policy {
    let mut policy = Policy::default();
    if let Err(broken) = read_files(dir, &mut policy) {
        policy.broken = Some(broken);
    }
    policy
}

fn read_files(dir: &Path, policy: &mut Policy) -> Result<(), String> {
    let mut files = vec![dir.join("policy.toml")];
    let more = dir.join("policy.d");
    match std::fs::read_dir(&more) {
        Ok(entries) => {
            for entry in entries {
                let path = entry.map_err(|error| unread(&more, &error))?.path();
                if path.extension().is_some_and(|kind| kind == "toml") {
                    files.push(path);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unread(&more, &error)),
    }
    files.sort();
    for path in files {
        match std::fs::read_to_string(&path) {
            Ok(text) => add(policy, &path, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {}
            Err(error) => return Err(unread(&path, &error)),
        }
    }
    Ok(())
}

fn unread(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

/// Adds what one file says.
fn add(policy: &mut Policy, path: &Path, text: &str) -> Result<(), String> {
    let line = |at: usize| {
        text.get(..at)
            .map_or(1, |before| before.matches('\n').count() + 1)
    };
    let words: Words = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(1, |span| line(span.start));
        format!("{} line {at}: {}", path.display(), error.message())
    })?;
    let place = |key: &str, at: usize| format!("{key} in {} line {}", path.display(), line(at));
    let on = |key: &str, said: Option<Spanned<bool>>| {
        let said = said.filter(|said| *said.get_ref())?;
        Some(Rule {
            value: (),
            place: place(key, said.span().start),
        })
    };
    let first = |known: &mut Option<Rule<()>>, said| {
        if known.is_none() {
            *known = said;
        }
    };
    first(&mut policy.read_only, on("read_only", words.read_only));
    let yes_to_all = on("forbid_yes_to_all", words.forbid_yes_to_all);
    first(&mut policy.no_yes_to_all, yes_to_all);
    let like_kafka = on("forbid_like_kafka", words.forbid_like_kafka);
    first(&mut policy.no_like_kafka, like_kafka);
    policy
        .no_classes
        .extend(words.forbid_classes.iter().map(|class| Rule {
            value: *class.get_ref(),
            place: place("forbid_classes", class.span().start),
        }));
    for (key, said, known) in [
        ("state_dir", words.state_dir, &mut policy.state_dir),
        (
            "quarantine_dir",
            words.quarantine_dir,
            &mut policy.quarantine,
        ),
    ] {
        let Some(said) = said else { continue };
        let rule = Rule {
            place: place(key, said.span().start),
            value: said.into_inner(),
        };
        if !rule.value.is_absolute() {
            return Err(format!("{}: not an absolute path", rule.place));
        }
        match known {
            Some(known) if known.value != rule.value => {
                return Err(format!("{} contradicts {}", rule.place, known.place));
            }
            _ => *known = Some(rule),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(files: &[(&str, &str)]) -> Policy {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("policy.d")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let mut policy = read_policy(dir.path());
        let shorter = |text: &str| text.replace(dir.path().to_str().unwrap(), "D");
        policy.broken = policy.broken.map(|text| shorter(&text));
        for rule in &mut policy.no_classes {
            rule.place = shorter(&rule.place);
        }
        policy
    }

    #[test]
    fn all_files_hold_and_say_where() {
        let policy = policy(&[
            (
                "policy.toml",
                "# ours\nforbid_classes = [\n  \"B\",\n  \"C\"]\n",
            ),
            (
                "policy.d/10-fleet.toml",
                "forbid_yes_to_all = true\nread_only = false\n",
            ),
            ("policy.d/note.txt", "nothing of this"),
            ("policy.d/20.toml", "state_dir = \"/var/lib/krescue\""),
        ]);
        assert_eq!(policy.broken, None);
        assert_eq!(policy.read_only, None);
        let classes: Vec<_> = policy.no_classes.iter().map(|rule| rule.value).collect();
        assert_eq!(classes, [Class::B, Class::C]);
        let second = &policy.no_classes[1].place;
        assert_eq!(second, "forbid_classes in D/policy.toml line 4");
        assert!(policy.forbids_yes_to_all().unwrap().contains("line 1"));
        assert_eq!(
            policy.state_dir.unwrap().value,
            Path::new("/var/lib/krescue")
        );
    }

    #[test]
    fn a_file_that_cannot_be_used_forbids_to_act_and_names_its_line() {
        for (text, want) in [
            (
                "read_only = true\nforbid_all = true\n",
                "D/policy.toml line 2: unknown field",
            ),
            (
                "\nread_only = \"yes\"\n",
                "D/policy.toml line 2: invalid type",
            ),
            (
                "forbid_classes = [\"D\"]\n",
                "D/policy.toml line 1: unknown variant",
            ),
            ("read_only = ", "D/policy.toml line 1:"),
            ("state_dir = \"here\"", "line 1: not an absolute path"),
        ] {
            let broken = policy(&[("policy.toml", text)]).broken.unwrap();
            assert!(broken.contains(want), "{broken}");
        }
        let contradicts = policy(&[
            ("policy.toml", "state_dir = \"/a\""),
            ("policy.d/1.toml", "state_dir = \"/b\""),
        ]);
        assert!(
            contradicts
                .forbids_acting()
                .unwrap()
                .contains("contradicts")
        );
        assert_eq!(policy(&[]), Policy::default());
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("policy.toml")).unwrap();
        assert!(
            read_policy(dir.path())
                .broken
                .unwrap()
                .contains("cannot be read")
        );
        assert_eq!(read_policy(Path::new("/nowhere")), Policy::default());
    }
}
