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
  partition  dir dir_name topic partition verdict (nothing, recover,
             truncate, take_back, ask, refused, unreadable, skipped) cause
             decided (like_kafka, cut_here, leave; null while an ask is
             open) applied log_start_offset log_end_offset (once the plan is
             carried out) recovery_point high_watermark segments bytes
             scan_bytes lost_bytes lost_records lost_segments steps
  segment    dir dir_name topic partition base_offset next_offset bytes
             allocated largest_timestamp valid_bytes batches records scanned
  finding    code severity (routine, warning, loss, fatal) dir partition file
             position offset lost_bytes lost_records text next
  step       dir partition file action (remove, set_len, write, copy_part,
             allocate, rename, restore, append) from to (lengths) new_name
             quarantine reason
  progress   job phase bytes_done bytes_total logs_done logs_total steps_done
             steps_total bytes_per_s end_time
  job        id state (running, done, done_but_left, refused, stopped, failed,
             killed) cause plan started who confirmed; its progress follows
  kept       plan at age_s who dir bytes files partitions state can_undo
             why_not purged (of quarantine ls and purge)
  audit      at who terminal sudo_user ssh_connection host confirmed plan
             undoes act (log, hand_over, end, purge, refused) and its fields
  summary    plan stored class (A, B, C) exit job cause logs bytes scan_bytes
             steps findings changed ask refused unreadable skipped cut_bytes
             lost_bytes lost_records quarantine_bytes

  Of watch: progress has phase (starting, loading, catching_up, opening,
  ended) bytes_done bytes_total logs_done logs_total segments_done
  bytes_per_s end_time refused; finding has code severity dir partition text
  next; summary has text losses exit (0 up, 1 died, 3 up with a loss).

  The partition of a finding or a step is its dir's name (orders-7), null for
  the log dir itself; that of a partition or a segment is its number.
  status --json is one object in one line.";
