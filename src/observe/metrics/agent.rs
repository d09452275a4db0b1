//! Which agents a broker was started with, and where they answer.

use std::fmt;
use std::fs;
use std::path::Path;

/// What kind of agent answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentKind {
    /// The JMX exporter of Prometheus (`jmx_prometheus_javaagent`).
    JmxExporter,
    /// Jolokia.
    Jolokia,
}

/// An agent and where it answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MetricsAgent {
    /// Its kind.
    pub kind: AgentKind,
    /// Its host; one that listens everywhere is asked at the loopback address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path of its answer, or that of all of Jolokia's.
    pub path: String,
}

/// The path of the JMX exporter.
const EXPORTER_PATH: &str = "/metrics";
/// Jolokia's own port and path.
const JOLOKIA: (u16, &str) = (8778, "/jolokia");

impl MetricsAgent {
    /// Parses `http://HOST:PORT/PATH`; a path with `jolokia` in it is Jolokia's, no path is the exporter's `/metrics`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse_url(url: &str) -> Result<Self, String> {
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some((scheme, _)) => {
                return Err(format!(
                    "{scheme}:// cannot be asked, only http://HOST:PORT/PATH"
                ));
            }
            None => url,
        };
        let (place, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = place.rsplit_once(':').unwrap_or((place, "80"));
        let port = port
            .parse()
            .map_err(|_| format!("{port} is no port: http://HOST:PORT/PATH"))?;
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() || path.contains(char::is_whitespace) {
            return Err("it has to be http://HOST:PORT/PATH".to_owned());
        }
        let kind = if path.contains("jolokia") {
            AgentKind::Jolokia
        } else {
            AgentKind::JmxExporter
        };
        let path = match (kind, path.trim_end_matches('/')) {
            (AgentKind::JmxExporter, "") => EXPORTER_PATH,
            (_, path) => path,
        };
        Ok(Self {
            kind,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }

    /// Returns what is known of the agent that `word` of a command line starts; `None` of any other word.
    fn of_word(word: &str) -> Option<Self> {
        let agent = word.strip_prefix("-javaagent:")?;
        let (jar, options) = agent.split_once('=').unwrap_or((agent, ""));
        let jar = jar.rsplit('/').next()?.to_ascii_lowercase();
        if jar.contains("jmx_prometheus") {
            // [HOST:]PORT:FILE, HOST in brackets where it has colons.
            let (front, _) = options
                .split_once(":/")
                .unwrap_or_else(|| options.rsplit_once(':').unwrap_or((options, "")));
            let (host, port) = front.rsplit_once(':').unwrap_or(("", front));
            return Some(Self {
                kind: AgentKind::JmxExporter,
                host: reachable(host),
                port: port.parse().ok()?,
                path: EXPORTER_PATH.to_owned(),
            });
        }
        if !jar.contains("jolokia") {
            return None;
        }
        let option = |key: &str| {
            let mut pairs = options.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.trim() == key)
        };
        let value = |key: &str| option(key).map(|(_, value)| value.trim());
        // What only TLS answers cannot be asked.
        if value("protocol").is_some_and(|protocol| protocol != "http") {
            return None;
        }
        let path = value("agentContext").unwrap_or(JOLOKIA.1);
        Some(Self {
            kind: AgentKind::Jolokia,
            host: reachable(value("host").unwrap_or("")),
            port: match value("port") {
                Some(port) => port.parse().ok()?,
                None => JOLOKIA.0,
            },
            path: format!("/{}", path.trim_matches('/')),
        })
    }
}

impl fmt::Display for MetricsAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host, port, path, ..
        } = self;
        if host.contains(':') {
            write!(f, "http://[{host}]:{port}{path}")
        } else {
            write!(f, "http://{host}:{port}{path}")
        }
    }
}

/// Returns where one is asked who listens at `host`.
fn reachable(host: &str) -> String {
    match host.trim_matches(['[', ']']) {
        "" | "0.0.0.0" | "*" | "localhost" => "127.0.0.1",
        "::" => "::1",
        other => other,
    }
    .to_owned()
}

/// Returns the agents that a process' options start, the cheapest to ask first: a scrape of all beans costs a second.
fn agents_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<MetricsAgent> {
    let mut agents: Vec<_> = words
        .into_iter()
        .filter_map(MetricsAgent::of_word)
        .collect();
    agents.sort_by_key(|agent| agent.kind != AgentKind::Jolokia);
    agents
}

/// Returns the agents of process `pid`, by its command line and the options in its environment; `None` where it lives in
/// another network than this program, so that a loopback address would be somebody else's.
pub fn agents_of_process(proc: &Path, pid: u32) -> Option<Vec<MetricsAgent>> {
    let dir = proc.join(pid.to_string());
    let network = |dir: &Path| fs::read_link(dir.join("ns/net")).ok();
    let (ours, theirs) = (network(&proc.join("self")), network(&dir));
    if theirs.is_some() && theirs != ours {
        return None;
    }
    let mut words = zero_ended(&fs::read(dir.join("cmdline")).unwrap_or_default());
    // Java takes options from there too.
    for variable in zero_ended(&fs::read(dir.join("environ")).unwrap_or_default()) {
        if let Some((name, options)) = variable.split_once('=')
            && ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"].contains(&name)
        {
            words.extend(options.split_whitespace().map(str::to_owned));
        }
    }
    Some(agents_of(words.iter().map(String::as_str)))
}

fn zero_ended(bytes: &[u8]) -> Vec<String> {
    let words = bytes.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_of_a_process_are_those_that_can_be_asked_from_here() {
        let tmp = tempfile::tempdir().unwrap();
        let link = |pid: &str, to: &str| {
            let dir = tmp.path().join(pid).join("ns");
            fs::create_dir_all(&dir).unwrap();
            std::os::unix::fs::symlink(to, dir.join("net")).unwrap();
        };
        link("self", "net:[1]");
        link("7", "net:[1]");
        link("8", "net:[2]");
        let command = "java\0-javaagent:jolokia.jar\0kafka.Kafka\0";
        fs::write(tmp.path().join("7/cmdline"), command).unwrap();
        let more = "A=b\0JAVA_TOOL_OPTIONS=-Xmx1g -javaagent:/x/jmx_prometheus.jar=9404:/y\0";
        fs::write(tmp.path().join("7/environ"), more).unwrap();
        let found = agents_of_process(tmp.path(), 7).unwrap();
        let ports: Vec<u16> = found.iter().map(|agent| agent.port).collect();
        assert_eq!(ports, [8778, 9404]);
        assert_eq!(agents_of_process(tmp.path(), 8), None);
        assert_eq!(agents_of_process(tmp.path(), 9), Some(Vec::new()));
    }

    fn told(words: &[&str]) -> Vec<String> {
        let agents = agents_of(words.iter().copied());
        agents.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn agents_are_found_among_a_process_options() {
        assert_eq!(told(&["-Xmx1g", "-javaagent:/opt/other.jar=1:2"]), [""; 0]);
        assert_eq!(
            told(&[
                "-javaagent:/opt/jmx_prometheus_javaagent-1.0.1.jar=9404:/etc/kafka/jmx.yml",
                "-javaagent:/opt/jolokia-agent-jvm-2.1.2-javaagent.jar",
            ]),
            [
                "http://127.0.0.1:8778/jolokia",
                "http://127.0.0.1:9404/metrics"
            ]
        );
        for (options, url) in [
            ("10.0.0.7:7071:/etc/a:b.yml", "http://10.0.0.7:7071/metrics"),
            ("0.0.0.0:7071:conf/jmx.yml", "http://127.0.0.1:7071/metrics"),
            ("[::]:7071:/etc/jmx.yml", "http://[::1]:7071/metrics"),
        ] {
            let word = format!("-javaagent:/a/jmx_prometheus_javaagent.jar={options}");
            assert_eq!(told(&[&word]), [url]);
        }
        for (options, url) in [
            ("=port=7777,host=0.0.0.0", "http://127.0.0.1:7777/jolokia"),
            ("=agentContext=/jmx/,port=1", "http://127.0.0.1:1/jmx"),
        ] {
            let word = format!("-javaagent:jolokia-jvm-1.7.2.jar{options}");
            assert_eq!(told(&[&word]), [url]);
        }
        for word in [
            "-javaagent:jolokia-jvm.jar=protocol=https",
            "-javaagent:jolokia-jvm.jar=port=x",
            "-javaagent:jmx_prometheus_javaagent.jar",
            "-javaagent:",
        ] {
            assert_eq!(told(&[word]), [""; 0], "{word}");
        }
    }

    #[test]
    fn a_url_says_which_agent_answers() {
        let told = |url: &str| MetricsAgent::parse_url(url).map(|agent| agent.to_string());
        assert_eq!(told("http://h:9404").unwrap(), "http://h:9404/metrics");
        assert_eq!(told("h:9404/m/").unwrap(), "http://h:9404/m");
        assert_eq!(told("http://h").unwrap(), "http://h:80/metrics");
        assert_eq!(told("http://[::1]:1/x").unwrap(), "http://[::1]:1/x");
        let jolokia = MetricsAgent::parse_url("http://h:8778/jolokia/").unwrap();
        assert_eq!(
            (jolokia.kind, jolokia.path.as_str()),
            (AgentKind::Jolokia, "/jolokia")
        );
        for bad in ["https://h:1/", "http://h:x/", "http://:1/", "h:1/a b", ""] {
            assert!(told(bad).is_err(), "{bad}");
        }
    }
}
