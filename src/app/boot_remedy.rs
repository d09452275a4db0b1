//! What to do about what ended a boot: an exception of Kafka's or Java's often names neither file nor remedy.

use crate::observe::server_log::{Boot, BootEnd};

/// Texts of the exceptions that end boots, each with what mends it; the first that fits is taken.
const REMEDIES: [(&str, &str); 26] = [
    (
        "InternalError",
        "no fault of Java's: a volume is full (or its disk fails) and a mapped index could not be written; krescue volumes, then \
         krescue cleanup --free SIZE --on DIR",
    ),
    (
        "No space left on device",
        "a volume is full, or out of inodes: krescue volumes, then krescue cleanup --free SIZE --on DIR",
    ),
    (
        "Too many open files",
        "raise LimitNOFILE= in the broker's unit (ulimit -n in a shell, the pod's runtime) above two files a segment; krescue \
         preflight counts them",
    ),
    (
        "Map failed",
        "raise vm.max_map_count above two maps a segment (sysctl -w); krescue preflight counts them",
    ),
    (
        "Java heap space",
        "raise the heap (KAFKA_HEAP_OPTS=\"-Xmx4g -Xms4g\", and a container's memory limit with it); producer state and many logs \
         need it",
    ),
    (
        "GC overhead limit",
        "raise the heap (KAFKA_HEAP_OPTS, and a container's memory limit with it)",
    ),
    (
        "Read-only file system",
        "the kernel made the volume read-only: dmesg says why; mend and remount it, or take the dir out of log.dirs first \
         (krescue preflight --failed DIR)",
    ),
    (
        "Input/output error",
        "the disk fails: dmesg says how; krescue preflight --failed DIR says what was on it and what to do",
    ),
    (
        "SocketException: Permission denied",
        "a port below 1024 is for root alone: give the broker another one, or CAP_NET_BIND_SERVICE",
    ),
    (
        "AccessDeniedException",
        "the broker's user may not use that file: krescue preflight --fix gives it back to its owner",
    ),
    (
        "Permission denied",
        "the broker's user may not use that file: krescue preflight --fix gives it back to its owner",
    ),
    (
        "Failed to acquire lock",
        "another process uses that log dir: krescue preflight names it; removing .lock helps nobody",
    ),
    (
        "Address already in use",
        "the port is taken: ss -ltnp names by whom; stop that, or give this broker its port back",
    ),
    (
        "No `meta.properties` found",
        "its volume is not mounted, or the file is lost: mount it; never format a dir with data (krescue preflight --fix makes \
         the file from the other dirs)",
    ),
    (
        "Duplicate directory ID",
        "one log dir is a copy of another: take the copy out of log.dirs",
    ),
    (
        "Invalid cluster.id",
        "this disk is of another cluster: take it out of log.dirs; do not edit the id",
    ),
    (
        "doesn't match previous node id",
        "this disk, or this server.properties, is of another broker: put the right one back; do not edit the id",
    ),
    (
        "Duplicate log directories",
        "the partition lies in two log dirs: krescue preflight --fix tells which copy is empty or older, and takes it away",
    ),
    (
        "is not in the form of topic-partition",
        "move that folder out of the log dir (an empty lost+found: krescue preflight --fix)",
    ),
    (
        "\"this.text\" is null",
        "a partition.metadata is empty: krescue preflight --fix writes it from the metadata log",
    ),
    (
        "NumberFormatException",
        "a checkpoint or a file name holds no number: krescue preflight names the file, --fix mends it",
    ),
    (
        "quorum-state",
        "the metadata quorum's state cannot be read: with other controllers alive, move __cluster_metadata-0 away and let it be \
         fetched; krescue preflight says what this node is",
    ),
    (
        "Unknown meta.properties version",
        "a meta.properties is damaged, or of a newer release: krescue preflight --fix makes it from the other dirs",
    ),
    (
        "Split operation is only permitted",
        "a segment's name does not fit its offsets: krescue preflight names it; krescue recover --decide TP=set-aside takes the \
         log away to be fetched anew",
    ),
    (
        "register with the controller quorum",
        "no controller could be reached: look at controller.quorum.bootstrap.servers or .voters, the network, and whether the \
         controllers are up",
    ),
    (
        "because all log dirs in",
        "each log dir failed: the first error of each says why; krescue preflight names what stands in the way",
    ),
];

/// Returns what mends what `text` tells, an exception or an error line.
pub fn remedy(text: &str) -> Option<&'static str> {
    let mut known = REMEDIES.iter();
    known
        .find(|(sign, _)| text.contains(sign))
        .map(|(_, next)| *next)
}

/// Returns what mends what ended `boot`: by the cause of its end or, where it says none, by the last trouble that is known.
pub fn after(boot: &Boot) -> Option<&'static str> {
    let cause = match &boot.end {
        Some(BootEnd::Died { cause }) => Some(cause.as_str()),
        _ => None,
    };
    cause.and_then(remedy).or_else(|| {
        let mut last = boot.troubles.iter().rev();
        last.find_map(|trouble| remedy(trouble.cause.as_deref()?))
    })
}
