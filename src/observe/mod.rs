//! Facts from outside the log dirs: running brokers, their logs, units, the usual places. Reports, never decides.

mod boot;
pub mod cluster;
mod heap;
mod host;
mod jar;
mod kernel_log;
mod kernel_records;
mod metrics;
pub mod mirror;
mod process;
pub mod server_log;
mod supervisor;
mod time_span;
mod unit;
mod unit_setting;

pub use boot::{
    Attempt, BootMeter, BootProgress, BootReport, BootSigns, BootSource, BootSources, BootWatch,
    CatchUp, DirReport, FirstPass, History, LoadedDir, LogBytes, Origin, ProcessLife, Reads,
    RecoveryThreads, SETTLE, SegmentBytes, SignSources, SourceReport, Span, ThreadReads, ToldBy,
    WorkReport, is_listening, listening_here, log_file_of, reads_per_byte,
};
pub use heap::{Heap, heap_of};
pub use host::{NamedMount, max_map_count, mount_error, named_mounts, open_files_of};
pub use jar::{JarVersion, version_of_class_path, version_of_jar_dir, version_of_jar_name};
pub use kernel_log::{DeviceErrors, kernel_io_errors};
pub use metrics::{
    AgentKind, BootMetrics, MetricsAgent, MetricsAnswer, MetricsPoll, SegmentsLeft,
    agents_of_process,
};
pub use process::{
    BrokerProcess, BrokerSearch, ProcessConfig, find_brokers, is_broker, open_under,
};
pub use supervisor::{Cgroup, KernelKill, Supervision, UnitLimits, supervision_of};
pub use time_span::seconds_of;
pub use unit::{BrokerUnit, USUAL_CONFIGS, find_units, usual_configs};
pub use unit_setting::{UnitSetting, unit_setting};
