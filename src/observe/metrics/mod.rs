//! The metrics of a booting broker, by HTTP: its agents answer before Kafka's own `main` begins.
//!
//! Two agents are known, by their real names and quoting: the JMX exporter of Prometheus, whatever its rules make of the
//! names, and Jolokia. What they say of a boot is how many logs and segments are left; both gauges are there only while
//! logs are recovered.

mod agent;
mod http;
mod jolokia;
mod object_name;
mod poll;
mod prometheus;
mod sample;

pub use agent::{AgentKind, MetricsAgent, agents_of_process};
pub use poll::{MetricsAnswer, MetricsPoll};
pub use sample::{BootMetrics, SegmentsLeft};
