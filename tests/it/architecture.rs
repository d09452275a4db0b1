//! Checks the layer table of `src/lib.rs` against the code: who names whom, how long files are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file, its tests not counted.
const MAX_LINES: usize = 500;

/// Layers that each layer may name; `None` for all.
type Table = BTreeMap<String, Option<BTreeSet<String>>>;

fn source_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Reads the table in the docs of `lib.rs`.
fn layer_table() -> Table {
    let text = fs::read_to_string(source_dir().join("lib.rs")).unwrap();
    let mut table = Table::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [layers, may_use, ..] = cells.as_slice() else {
            panic!("not a row of the layer table: {line}")
        };
        if *layers == "layer" {
            continue;
        }
        let allowed = match *may_use {
            "all" => None,
            "–" => Some(BTreeSet::new()),
            list => Some(
                list.split(',')
                    .map(|name| name.split_whitespace().next().unwrap().to_owned())
                    .collect(),
            ),
        };
        for layer in layers.split(',') {
            table.insert(layer.trim().to_owned(), allowed.clone());
        }
    }
    table
}

/// Returns every source file with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut dirs = vec![source_dir()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

/// Returns `text` up to its test module.
fn without_tests(text: &str) -> &str {
    text.match_indices("#[cfg(test)]")
        .find(|(at, marker)| {
            let behind = text[at + marker.len()..].trim_start();
            let first = behind.lines().next().unwrap();
            first.contains("mod ") && first.ends_with('{')
        })
        .map_or(text, |(at, _)| &text[..at])
}

/// Returns the code of `text`, comments and tests left out.
fn code(text: &str) -> String {
    without_tests(text)
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the modules that follow `crate::`, also in a group.
fn named_layers(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, marker) in code.match_indices("crate::") {
        // `some_crate::x` is no path of ours.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + marker.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(group_heads(group)),
            None => names.extend([ident(rest)]),
        }
    }
    names.remove("");
    names
}

/// Returns the first identifiers of a group's entries: `a::{b, c}, d` gives a and d.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0_usize;
    let mut entry = String::new();
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(ident(std::mem::take(&mut entry).trim())),
            _ if depth == 0 => entry.push(c),
            _ => {}
        }
    }
    heads.push(ident(entry.trim()));
    heads
}

fn ident(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// Returns the layer that a file belongs to; `None` for `lib.rs` and `main.rs`.
fn layer_of(path: &Path) -> Option<String> {
    let relative = path.strip_prefix(source_dir()).unwrap();
    let first = relative.components().next().unwrap().as_os_str();
    let name = first.to_str().unwrap().trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then(|| name.to_owned())
}

#[test]
fn each_layer_names_only_those_below_it() {
    let table = layer_table();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(layer) = layer_of(&path) else {
            continue;
        };
        let Some(allowed) = table.get(&layer) else {
            wrong.push(format!(
                "{}: layer {layer} is not in the table",
                path.display()
            ));
            continue;
        };
        let Some(allowed) = allowed else { continue };
        for name in named_layers(&code(&text)) {
            if name != layer && !allowed.contains(&name) {
                wrong.push(format!("{}: {layer} may not use {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what `pub use event::{…}` of a layer's `mod.rs` exports.
fn event_types(layer: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(source_dir().join(layer).join("mod.rs")).unwrap();
    let (_, rest) = text.split_once("pub use event::{").unwrap();
    group_heads(rest).into_iter().collect()
}

#[test]
fn who_may_use_events_only_uses_events_only() {
    let table = fs::read_to_string(source_dir().join("lib.rs")).unwrap();
    let events = event_types("engine");
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(layer) = layer_of(&path) else {
            continue;
        };
        let row = format!("//! | {layer} |");
        let limited = table
            .lines()
            .any(|line| line.starts_with(&row) && line.contains("engine (events)"));
        if !limited {
            continue;
        }
        let code = code(&text);
        for (at, marker) in code.match_indices("crate::engine::") {
            let rest = &code[at + marker.len()..];
            let names = match rest.strip_prefix('{') {
                Some(group) => group_heads(group),
                None => vec![ident(rest)],
            };
            for name in names
                .into_iter()
                .filter(|name| !events.contains(name) && !name.is_empty())
            {
                wrong.push(format!("{}: {name} is no event", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_path_climbs_out_of_its_parent() {
    // `super::super` would leave a layer unseen by the test above.
    let climbing: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| code(text).contains("super::super"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(climbing.is_empty(), "{}", climbing.join("\n"));
}

#[test]
fn files_stay_short() {
    let long: Vec<String> = sources()
        .into_iter()
        .map(|(path, text)| (path, without_tests(&text).lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_table_is_read_as_it_is_written() {
    let table = layer_table();
    assert_eq!(table["terms"], Some(BTreeSet::new()));
    assert!(table["engine"].as_ref().unwrap().contains("plan"));
    assert_eq!(table["cli"], None);
    assert_eq!(
        named_layers("use crate::{plan::{Step, Verdict}, log};\ncrate::terms::Offset"),
        BTreeSet::from(["plan", "log", "terms"].map(str::to_owned))
    );
}
