//! All rules, in the order in which their problems are told.

use super::facts::BootFacts;
use super::problem::{Problem, Rule};
use super::{
    access, checkpoints, identity, leader_epochs, limits, metadata_log, names, partitions, ports,
    space, stray, twice, volumes,
};

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "inodes",
        check: space::inodes,
    },
    Rule {
        name: "blocks",
        check: space::blocks,
    },
    Rule {
        name: "owner",
        check: access::owner,
    },
    Rule {
        name: "open_files",
        check: limits::open_files,
    },
    Rule {
        name: "map_count",
        check: limits::map_count,
    },
    Rule {
        name: "heap",
        check: limits::heap,
    },
    Rule {
        name: "not_a_file",
        check: names::not_a_file,
    },
    Rule {
        name: "lock",
        check: volumes::lock,
    },
    Rule {
        name: "mounts",
        check: volumes::mounts,
    },
    Rule {
        name: "log_dir",
        check: volumes::log_dir,
    },
    Rule {
        name: "read_only",
        check: volumes::read_only,
    },
    Rule {
        name: "meta_properties",
        check: identity::meta_properties,
    },
    Rule {
        name: "ids",
        check: identity::ids,
    },
    Rule {
        name: "metadata_log",
        check: metadata_log::metadata_log,
    },
    Rule {
        name: "dir_names",
        check: names::dir_names,
    },
    Rule {
        name: "file_names",
        check: names::file_names,
    },
    Rule {
        name: "twice",
        check: twice::twice,
    },
    Rule {
        name: "leader_epochs",
        check: leader_epochs::leader_epochs,
    },
    Rule {
        name: "partition_metadata",
        check: partitions::partition_metadata,
    },
    Rule {
        name: "segments",
        check: partitions::segments,
    },
    Rule {
        name: "checkpoints",
        check: checkpoints::checkpoints,
    },
    Rule {
        name: "ports",
        check: ports::ports,
    },
    Rule {
        name: "controllers",
        check: ports::controllers,
    },
    Rule {
        name: "stray",
        check: stray::stray,
    },
    Rule {
        name: "indexes",
        check: partitions::indexes,
    },
    Rule {
        name: "leftovers",
        check: partitions::leftovers,
    },
    Rule {
        name: "volumes",
        check: volumes::advice,
    },
];

/// Returns the problems of all rules, the worst first; of equals the order of [`RULES`] counts.
pub fn check_boot(facts: &BootFacts) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for rule in RULES {
        let found = (rule.check)(facts).into_iter();
        problems.extend(found.map(|problem| Problem {
            rule: rule.name,
            ..problem
        }));
    }
    problems.sort_by_key(|problem| std::cmp::Reverse((problem.finding.severity, problem.at_boot)));
    problems
}
