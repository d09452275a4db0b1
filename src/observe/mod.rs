//! Facts from outside the log dirs: running brokers, their logs, units, the usual places. Reports, never decides.

mod boot_meter;
mod boot_process;
mod jar;
mod process;
pub mod server_log;
mod unit;

pub use boot_meter::{BootMeter, BootProgress, LogBytes};
pub use boot_process::{ProcessLife, log_file_of, recovery_reads};
pub use jar::{JarVersion, version_of_class_path, version_of_jar_dir, version_of_jar_name};
pub use process::{BrokerProcess, BrokerSearch, ProcessConfig, find_brokers, open_under};
pub use unit::{BrokerUnit, USUAL_CONFIGS, find_units, usual_configs};
