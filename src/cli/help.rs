//! Texts of `--help` beyond the options: exit codes and the layout of the JSON lines. At most 78 columns wide.

/// Behind each command's options.
pub(super) const EXIT_CODES: &str = "\
Exit codes
  looking:  0 nothing beyond routine, 3 findings or a plan with a step
  --apply:  0 each selected partition reached its planned end
            3 done, but some logs stay as they are (ASK, REFUSED, unreadable)
            4 refused before any change
            5 stopped in the middle, a rerun goes on
  either:   1 failed, 2 usage";

/// Behind each command's options with `--help`: exit codes, then what `--json` prints.
pub(super) const CONTRACT: &str = "\
Exit codes
  looking:  0 nothing beyond routine, 3 findings or a plan with a step
  --apply:  0 each selected partition reached its planned end
            3 done, but some logs stay as they are (ASK, REFUSED, unreadable)
            4 refused before any change
            5 stopped in the middle, a rerun goes on
  either:   1 failed, 2 usage

JSON lines (--json)
  Each line has a kind. Names are snake_case, bytes and offsets integers,
  times RFC 3339; what is unknown is null, never 0.

  run        schema krescue_version command kafka_version version_source now
             host node_id cluster_id config found_by log_dirs broker (down,
             running, unknown) pid unit topic_settings reading
  log_dir    dir state (clean, unclean) hand_over removes_marker logs segments
             bytes scan_bytes
  partition  dir dir_name topic partition verdict (nothing, recover, mend,
             truncate, take_back, delete, move, ask, refused, unreadable,
             skipped) cause decided (like_kafka, cut_here, leave, set_aside;
             null while an ask is open) in_sync_elsewhere (of an ask: brokers
             that have the log in sync) in_sync_as_of (when that was so)
             applied (of --apply: whether it is at its planned end; else null)
             log_start_offset log_end_offset (exclusive; once the plan is
             carried out, so null of an open ask and of what an apply left)
             recovery_point high_watermark segments bytes scan_bytes
             lost_bytes lost_records lost_segments
             steps (an open ask's are those of Kafka's way; an apply runs
             none of them: no step lines there, and 0)
             freed_bytes to_dir copied_bytes (of a move; dir is where it lay)
             groups (of a deletion: [{group, partition, committed}] below the
             new log start)
  segment    dir dir_name topic partition base_offset next_offset bytes
             allocated largest_timestamp valid_bytes batches records scanned
             verdict reason (null here, see segments)
  finding    code severity (routine, warning, loss, fatal) dir partition file
             position offset lost_bytes lost_records text next
             and, of preflight: rule (what found it) at_boot (what a boot of
             this release does) line (of the file, from 1) fix (whether
             preflight --fix mends it)
  step       dir partition file action (remove, set_len, write, copy_part,
             allocate, rename, restore, append, remove_dir, create_dir,
             rename_dir, set_owner, copy_out, move_dir) from to (lengths)
             new_name (a path for the last two) quarantine reason
  verified   (of verify, one a log) dir dir_name topic partition segments
             bytes findings good (nothing beyond routine)
  volume     dir state (online, cordoned, read_only, failing, offline, missing,
             not_mounted) since cause mount source fs shares_with total free
             (for the broker) free_root used_percent inodes free_inodes kafka
             (allocated, in the dir) kafka_logical foreign (on the volume)
             foreign_in_dir kinds (allocated by kind) leftovers sparse_indexes
             holes held dirs segments imbalance_percent rate_10m rate_24h
             rate_10m_source rate_24h_source (samples, segments)
             full_in_10m_s full_in_24h_s takes_next growable
  freeable   (of cleanup --free) rank (the safest first) dir dir_name cost
             (leftover, past_retention, oldest_records) leftover (its kind)
             class chosen allocated (what it frees; of what is not chosen, all
             of it) total (freed by what is chosen up to this line) segments
             segments_of log_start_offset lost_bytes loses elsewhere groups
             at_boot
  way        class allocated text command (an act of its own)
  boot_needs free_bytes (on each volume) read_bytes seconds bytes_per_s
             measured (false: the rate is a guess)
  doubt      text (what a cleanup assumes, or does not know)
  broker_volume  (of volumes --bootstrap) broker dir state (online, offline)
             total free used_percent kafka (segments) replicas moving_here
  progress   job phase bytes_done bytes_total logs_done logs_total steps_done
             steps_total bytes_per_s end_time
  job        id state (running, done, done_but_left, refused, stopped, failed,
             killed) cause plan started who confirmed; its progress follows
  kept       plan at age_s who dir bytes files partitions state can_undo
             why_not purged (of quarantine ls and purge)
  audit      at who terminal sudo_user ssh_connection host confirmed plan
             undoes act (log, hand_over, end, purge, refused) and its fields,
             of log dir partition log_start_offset log_end_offset steps
  summary    plan stored class (A, B, C) exit job cause logs bytes scan_bytes
             steps findings changed ask refused unreadable skipped cut_bytes
             lost_bytes lost_records quarantine_bytes freed_bytes

  Of watch: progress has phase (starting, loading, catching_up, opening,
  ended) bytes_done bytes_total logs_done logs_total segments_done
  bytes_per_s end_time refused; finding has code severity dir partition text
  next; summary has text losses exit (0 up, 1 died, 3 up with a loss).

  Of segments: segment has dir dir_name topic partition base_offset
  next_offset bytes allocated freed (all its files) largest_timestamp
  timestamp_source (time_index, batches, file_time) verdict (delete: by the
  next pass, keep, held, compact, leftover) reason (log_start, size, time,
  active, high_watermark, future_timestamp, older_segment, policy, unlimited,
  not_uploaded, cleaner_off, dirty_ratio, compacted, compaction_lag,
  cleaner_gave_up, open_transaction, deleted, cleaned, swap) also over_ms
  over_bytes (negative: under) changes_at held_by, of a leftover renamed_at
  unlinked_at (by a timer) text; retention, one a log before its segments,
  has dir dir_name topic partition cleanup_policy retention_ms
  retention_ms_source retention_bytes retention_bytes_source log_start_offset
  log_start_offset_source log_start_offset_after log_end_offset
  high_watermark high_watermark_source (broker, sole_in_sync, checkpoint)
  settings_source asked_at (with --bootstrap while this host's broker runs:
  its leader, log start and settings are asked for; source is broker then,
  else checkpoint and files) rolls_at active_rolls_at active_rolls_from
  dirty_ratio dirty_bytes clean_bytes dirty_offsets cleaner_map_keys dense
  passed_over cleaner_gave_up open_transaction leads segments allocated
  delete_segments delete_bytes next_day_segments next_day_bytes held_segments
  held_bytes keep_segments keep_bytes compact_segments compact_bytes. Of
  partitions that are named config, one a setting of the topic: topic key
  value source (topic, dynamic broker, dynamic default, server.properties,
  default) source_key behind (what would count without it: value source
  source_key).

  The partition of a finding or a step is its dir's name (orders-7), null for
  the log dir itself; that of a partition or a segment is its number. Hints
  for people are on the standard error, with what is refused or failed.
  status --json is one object in one line: the fields of run, then situation
  logs segments bytes scan_bytes findings preflight (fatal loss warning
  routine worst) crash_cost_bytes undecided_asks booting boot (phase
  bytes_done bytes_total bytes_per_s logs_done logs_total end_time; null while
  none boots) not_seen dirs running_jobs killed_job in_force exit; its
  metadata has mode (kraft,
  zookeeper) next_offset timestamp features leader_id leader_epoch voters
  voters_source bootstrap_file bootstrap_features text. While no broker runs
  it has ends (topic partition dir leader_epoch log_end_offset recovered_first
  isr) and vote (voters voters_source quorum_epoch log_epoch log_end_offset).
  Of two and more such lines status --merge - --json makes, behind them,
  newest_log (topic partition leader_epoch log_end_offset newest_on behind:
  broker leader_epoch log_end_offset records may_lead; not_told),
  quorum_outlook (voters voters_source present needed can_form newest_epoch
  newest_end) and, in the order of boots, boot_place (broker host is_voter
  newest_of behind_in endangers).";

/// Behind the options of `dump`.
pub(super) const DUMP_EXIT_CODES: &str = "\
Exit codes
  0 nothing is wrong in the file, 3 findings; 1 it cannot be read, 2 usage (its
  name does not say what it holds)";

/// Behind the options of `dump` with `--help`.
pub(super) const DUMP: &str = "\
Exit codes
  0 nothing is wrong in the file, 3 findings; 1 it cannot be read, 2 usage (its
  name does not say what it holds)

JSON lines (--json)
  The rows of the text, in the same order: each has a kind, then the names and
  values that the text shows.

  file       path content bytes; first
  batch      position bytes base_offset last_offset records magic crc crc_ok
             leader_epoch codec timestamp_type base_timestamp max_timestamp
             producer_id producer_epoch base_sequence last_sequence
             transactional control delete_horizon
  message    (magic 0 and 1) position bytes last_offset magic crc crc_ok codec
             timestamp_type timestamp
  record, control_record, metadata_record
             (with --records) offset timestamp, then what it holds
  index_entry       position offset relative_offset log_position
  time_index_entry  position timestamp timestamp_ms offset relative_offset
  aborted_txn       position version producer_id first_offset last_offset
                    last_stable_offset
  producer   producer_id producer_epoch last_sequence last_offset offset_delta
             timestamp coordinator_epoch current_txn_first_offset
  checkpoint_entry  topic partition offset
  epoch      epoch start_offset
  property, meta_properties, partition_metadata, clean_shutdown, quorum_state
             the fields of that file
  zeros      position bytes (a tail of zeros)
  finding    code severity file position text
  summary    counts of the above, findings exit; last";

/// Behind the options of `jobs`.
pub(super) const JOBS_EXIT_CODES: &str = "\
Exit codes
  0 they were listed, 1 failed, 2 usage";

/// Behind the options of `jobs` with `--help`.
pub(super) const JOBS: &str = "\
Exit codes
  0 they were listed, 1 failed, 2 usage

JSON lines (--json)
  job        id state (running, done, done_but_left, refused, stopped, failed,
             killed) cause plan started who confirmed (typed, by_hash,
             yes_to_all)
  progress   behind its job: job phase bytes_done bytes_total logs_done
             logs_total steps_done steps_total bytes_per_s end_time";

/// Behind the options of `stop`.
pub(super) const STOP: &str = "\
Exit codes
  0 it was asked to, or does not run; 1 no such job, or failed; 2 usage
  The apply that waits for it ends with 5, and a rerun goes on.";

/// Behind the options of `replicas` with `--help`.
pub(super) const REPLICAS: &str = "\
Exit codes
  0 every replica is in sync, 3 some are not (or were not within
  --wait-in-sync), or a broker does not answer; 1 failed, 2 usage

Each replica is asked for its own log end offset, followers too; its lag is
the difference to its leader's, asked before (lag_records) and after
(lag_records_most). A replica that does not answer has no lag: it is unknown.
Its lag in time (lag_ms) is how long ago its leader's log ended where its own
does, by the looks at it; what lies before the first look is told by how fast
the leader appends now (lag_ms_exact false).

JSON lines (--json)
  run        schema krescue_version command kafka_version now host node_id
             cluster_id bootstrap found_by brokers requests took_ms
  broker     broker address rack failure offline_dirs
  quorum     leader (active controller) epoch voters current (those that
             fetch) may_fail (before no controller can be elected) text
  replica    topic partition broker leader (is it) in_sync log_end_offset
             (its own) lag_records lag_records_most lag_bytes lag_bytes_exact
             lag_ms lag_ms_exact log_start_offset bytes dir moving_to
             moving_left (offsets) moved_in_s leader_id leader_epoch replicas
             isr elr min_isr under_min_isr only_in_sync offline records_per_s
             bytes_per_s in_sync_in_s falls_behind age_ms causes
             and, for a replica of this host whose broker the cluster does not
             see, by its files and the leader's epochs: will_cut_records
             will_cut_to_offset will_cut_acknowledged (below the checkpointed
             high watermark) will_cut_cause (diverged, leader_ends_before,
             leader_starts_behind, high_watermark)
  progress   replicas_total replicas_in_sync lag_records in_sync_in_s text
             (with --wait-in-sync)
  summary    partitions replicas out_of_sync offline under_min_isr
             without_leader only_one_in_sync will_cut_records exit cause";

/// Behind the options of `mirror` with `--help`.
pub(super) const MIRROR: &str = "\
Exit codes
  0 nothing beyond routine, 3 findings (a fact is missing, a group has no
  position), 1 failed, 2 usage

JSON lines (--json)
  Each line has a kind. Offsets are integers, times RFC 3339; what is unknown
  is null, never 0.

  run         schema krescue_version command now host mm2 clusters (alias
              cluster_id sources: host places node_id read_at live)
  flow        flow source target state (active, heartbeat_only, off, invalid)
              settings (file, connectors, defaults) mm2_version
              mm2_version_source topics partitions behind behind_unknown
              last_sync last_checkpoint heartbeat task_state workers hops
  mirrored_topic      flow topic remote_topic copied why
  mirrored_partition  flow topic remote_topic partition source_start_offset
              source_end_offset target_start_offset target_end_offset position
              last_sync_upstream last_sync_downstream copied_offset behind
              behind_at_most headroom headroom_bytes overtaken_at
              overtaken_by (time, size) newest_copied newest_written
  translation flow group topic (the source's name) partition upstream (the
              group's commit there) downstream (what RemoteClusterUtils would
              say after MirrorMaker 2's next pass) remote_topic committed_at
              why (exact, behind_sync, checkpoint_stays, too_old, no_sync,
              syncs_unknown, not_emitted, taken_over) sync_upstream
              sync_downstream checkpoint_upstream checkpoint_downstream
              read_again
  position    flow group topic remote_topic partition upstream committed_at
              target_commit checkpoint position told_by (target_commit,
              checkpoint, translation, all_syncs) read_again notes (active,
              rewound, target_ahead, beyond_end, before_start)
  finding     code (of lint: the rule, E-, W- or I- and a name) severity
              (routine, warning, error) flow place text next
  silent      code missing (a rule, and the fact that it needs)
  promote_step flow number title why facts lines
  live_plan   (of failover --set) plan class cluster_id act (group_positions)
              target changes: group partition to before (offset leader_epoch
              metadata) text kafka_line; a summary with plan class exit cause
              ends what --apply did: 0 all set, 3 some were left, 4 refused
  summary     exit findings lines cause

  mirror facts prints one object in one line, for --facts elsewhere.";

/// Behind the options of commands that act on the living cluster, with `--help`.
pub(super) const LIVE: &str = "\
Exit codes
  0 done, or nothing to tell; 3 a plan was shown and not carried out, or an
  old value is not back yet; 4 refused before any change; 1 failed, 2 usage

A plan is shown first: what was set before, what goes, which groups have not
read it, and the line for Kafka's own tools. It is carried out by --apply with
a confirmation (class A y/N, B the name, C host and bytes), or by --apply --yes
HASH, or --yes-to-all; each act is audited. Old values are kept in the state
dir until --restore puts them back.

Not done by krescue, shown here for Kafka's own tools:
  throttle   kafka-configs.sh --bootstrap-server H:P --alter --entity-type
             brokers --entity-name ID --add-config
             follower.replication.throttled.rate=BYTES (and the topic's
             follower.replication.throttled.replicas; take both away again)
  leaders    kafka-leader-election.sh --bootstrap-server H:P --election-type
             preferred --all-topic-partitions
  hanging    kafka-transactions.sh --bootstrap-server H:P find-hanging
             --broker-id ID; then abort --topic T --partition N
             --start-offset O

move TP --to DIR copies the files itself while this host's broker is down: the
copy has a -delete name until it is whole and compared, so that a boot removes
it; then it takes the partition's name, and the source goes. Between the two
renames a boot refuses to start (duplicate log dirs), and a rerun ends the move.
Its plan, classes and JSON lines are those of recover --help.

JSON lines (--json)
  live_plan  plan class cluster_id act (topic_configs, delete_records,
             move_replica, producer_quota, cordon) and its fields topic_id
             made_anew (the topic, since the plan that this one takes back)
             restores text
             lost_bytes lost_records groups mirrors (mirror partition copied
             uncopied last_sync (ms): what it may not have) mirrors_unread
             can_be_restored kafka_line
  config     topic key value source (of retention without a change)
  freed      topic broker before_bytes bytes freed_bytes promised_bytes
             freed_records (of retention while a change is in force)
  summary    plan class exit cause";
