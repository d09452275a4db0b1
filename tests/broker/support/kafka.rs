//! Kafka of one version: its jars, and the Java programs of these tests compiled against them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::class_archive;

/// A resolved version.
#[derive(Debug)]
pub(crate) struct Kafka {
    /// As Kafka writes it, such as `4.4.0`.
    pub(crate) version: String,
    class_path: String,
    folder: PathBuf,
    parts: Parts,
}

/// What of Kafka is on the class path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    Broker,
    /// MirrorMaker 2 too.
    Mirror,
}

static RESOLVED: Mutex<Vec<Arc<Kafka>>> = Mutex::new(Vec::new());

/// The compiled programs; a class archive takes no folders.
const CLASSES: &str = "classes.jar";
const LOG4J: &str = "2.25.4";
/// The program that needs MirrorMaker 2's classes.
const MIRRORED: (&str, &str) = ("Mirrored.java", include_str!("../java/Mirrored.java"));
const PROGRAMS: [(&str, &str); 12] = [
    ("AdminShell.java", include_str!("../java/AdminShell.java")),
    ("GoOn.java", include_str!("../java/GoOn.java")),
    ("Attached.java", include_str!("../java/Attached.java")),
    ("Workload.java", include_str!("../java/Workload.java")),
    ("LoadLogs.java", include_str!("../java/LoadLogs.java")),
    (
        "TruncateLogs.java",
        include_str!("../java/TruncateLogs.java"),
    ),
    ("BootAndHalt.java", include_str!("../java/BootAndHalt.java")),
    ("ReadAll.java", include_str!("../java/ReadAll.java")),
    (
        "Acknowledged.java",
        include_str!("../java/Acknowledged.java"),
    ),
    ("Replicas.java", include_str!("../java/Replicas.java")),
    ("RetainLogs.java", include_str!("../java/RetainLogs.java")),
    ("WritePem.java", include_str!("../java/WritePem.java")),
];

impl Kafka {
    /// Returns `version`, resolved once a process and cached on disk below `target/kafka`.
    pub(crate) fn resolve(version: &str) -> Arc<Self> {
        Self::resolve_parts(version, Parts::Broker)
    }

    /// Returns `version` with MirrorMaker 2 beside the broker, in a folder of its own.
    pub(crate) fn resolve_with_mirror(version: &str) -> Arc<Self> {
        Self::resolve_parts(version, Parts::Mirror)
    }

    fn resolve_parts(version: &str, parts: Parts) -> Arc<Self> {
        let mut resolved = RESOLVED.lock().unwrap_or_else(|poisoned| {
            // A failure to resolve is told by the test that met it first; the others try again.
            RESOLVED.clear_poison();
            poisoned.into_inner()
        });
        if let Some(kafka) = resolved
            .iter()
            .find(|kafka| kafka.version == version && kafka.parts == parts)
        {
            return Arc::clone(kafka);
        }
        require_tools();
        let folder = target().join("kafka").join(match parts {
            Parts::Broker => version.to_owned(),
            Parts::Mirror => format!("{version}-mirror"),
        });
        fs::create_dir_all(&folder).unwrap();
        let kafka = Arc::new(Self {
            version: version.to_owned(),
            class_path: class_path(version, parts, &folder),
            folder,
            parts,
        });
        kafka.compile();
        kafka.write_log_settings();
        if parts == Parts::Broker {
            class_archive::make(&kafka, &kafka.folder);
        }
        resolved.push(Arc::clone(&kafka));
        kafka
    }

    /// Says whether this is 4.0 or later.
    pub(crate) fn is_4(&self) -> bool {
        !self.version.starts_with("3.")
    }

    /// Returns the topic key that makes segments smaller than 1 MiB.
    pub(crate) fn segment_key(&self) -> &'static str {
        if self.is_4() {
            "internal.segment.bytes"
        } else {
            "segment.bytes"
        }
    }

    /// Says whether this release takes [`Kafka::segment_key`]; 4.0 has none.
    pub(crate) fn knows_segment_key(&self) -> bool {
        !self.version.starts_with("4.0.")
    }

    /// Returns a command for [`Process`](super::process::Process): a Java program that dies with this one.
    pub(crate) fn attached(&self, heap: &str, class: &str) -> Command {
        let mut command = self.java(heap, "Attached");
        command.arg(class).stdin(Stdio::piped());
        command
    }

    /// Returns a command that runs `class` with at most `heap` of memory, logging to its standard output.
    pub(crate) fn java(&self, heap: &str, class: &str) -> Command {
        let mut command = Command::new(tool("java"));
        let settings = self.folder.display();
        let archive = class_archive::path(&self.folder);
        if archive.exists() {
            command.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
        }
        command
            .arg(format!("-Xmx{heap}"))
            .args([
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xshare:auto",
            ])
            .arg(format!(
                "-Dlog4j.configuration=file:{settings}/log4j.properties"
            ))
            .arg(format!(
                "-Dlog4j2.configurationFile={settings}/log4j2.properties"
            ))
            .arg("-cp")
            .arg(format!(
                "{}:{}",
                self.folder.join(CLASSES).display(),
                self.class_path
            ))
            .arg(class)
            .stdin(Stdio::null());
        command
    }

    fn compile(&self) {
        let classes = self.folder.join("classes");
        let stamp = self.folder.join("classes.sources");
        let programs: Vec<_> = match self.parts {
            Parts::Broker => PROGRAMS.to_vec(),
            Parts::Mirror => {
                let attached = PROGRAMS.iter().filter(|(name, _)| *name == "Attached.java");
                attached.copied().chain([MIRRORED]).collect()
            }
        };
        let sources: String = programs.iter().map(|(_, source)| *source).collect();
        let jar = self.folder.join(CLASSES);
        if jar.exists() && fs::read_to_string(&stamp).is_ok_and(|compiled| compiled == sources) {
            return;
        }
        let folder = self.folder.join("sources");
        let _ = fs::remove_dir_all(&classes);
        let _ = fs::remove_file(class_archive::path(&self.folder));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&classes).unwrap();
        let mut command = Command::new(tool("javac"));
        command.args(["-nowarn", "-cp", &self.class_path, "-d"]);
        command.arg(&classes);
        for (name, source) in programs {
            fs::write(folder.join(name), source).unwrap();
            command.arg(folder.join(name));
        }
        let what = format!(
            "compiling the tests' Java programs for Kafka {}",
            self.version
        );
        run(&mut command, &what);
        let mut pack = Command::new(tool("jar"));
        pack.arg("cf").arg(jar);
        run(pack.arg("-C").arg(&classes).arg("."), &what);
        fs::write(stamp, sources).unwrap();
    }

    fn write_log_settings(&self) {
        let pattern = "[%d] %p %m (%c)%n";
        let old = format!(
            "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n\
             log4j.appender.out.layout=org.apache.log4j.PatternLayout\nlog4j.appender.out.layout.ConversionPattern={pattern}\n"
        );
        let new = format!(
            "rootLogger.level=INFO\nrootLogger.appenderRef.out.ref=Out\nappender.out.type=Console\nappender.out.name=Out\n\
             appender.out.layout.type=PatternLayout\nappender.out.layout.pattern={pattern}\n"
        );
        fs::write(self.folder.join("log4j.properties"), old).unwrap();
        fs::write(self.folder.join("log4j2.properties"), new).unwrap();
    }
}

/// Returns a jar of Maven Central, `GROUP:ARTIFACT:VERSION[:jar:CLASSIFIER]`, cached below `target/kafka`.
pub(crate) fn jar(artifact: &str) -> PathBuf {
    let mut parts = artifact.split(':').skip(1);
    let (name, version) = (parts.next().unwrap(), parts.next().unwrap());
    let classifier = parts.nth(1).map(|of| format!("-{of}")).unwrap_or_default();
    let folder = target().join("kafka/agents");
    let path = folder.join(format!("{name}-{version}{classifier}.jar"));
    if !path.exists() {
        require_tools();
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("mvn");
        command
            .current_dir(&folder)
            .args(["-q", "-B", "dependency:copy"])
            .arg(format!("-Dartifact={artifact}"))
            .arg(format!("-DoutputDirectory={}", folder.display()));
        maven(
            &mut command,
            &format!("fetching {artifact} from Maven Central"),
        );
    }
    path
}

/// Runs Maven, up to three times: the network may fail once. Alone: two would write the same files of its repository.
fn maven(command: &mut Command, what: &str) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..2 {
        if command.output().is_ok_and(|output| output.status.success()) {
            return;
        }
    }
    run(command, what);
}

/// Returns cargo's target folder.
pub(crate) fn target() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.parent().unwrap_or(folder).to_owned()
}

/// Runs `command` to its end; fails with its output unless it succeeds.
pub(crate) fn run(command: &mut Command, what: &str) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: cannot start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{what} failed with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns a program of the JDK.
pub(crate) fn tool(name: &str) -> PathBuf {
    match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin").join(name).exists() => {
            Path::new(&home).join("bin").join(name)
        }
        _ => PathBuf::from(name),
    }
}

/// Fails with what to install when Java 17's compiler or Maven is missing: these tests prove nothing without Kafka.
fn require_tools() {
    let need = "the broker tests need a JDK of version 17 or later (java and javac, in JAVA_HOME or PATH) and Maven (mvn in PATH), \
                which fetches Kafka from Maven Central; on Debian: apt-get install openjdk-17-jdk-headless maven";
    for (name, argument) in [("java", "-version"), ("javac", "-version"), ("mvn", "-v")] {
        let output = Command::new(tool(name))
            .arg(argument)
            .output()
            .unwrap_or_else(|error| panic!("{name} does not start ({error}): {need}"));
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(
            output.status.success(),
            "{name} {argument} fails: {need}\n{text}"
        );
        if name == "javac" {
            let major: u32 = text
                .trim()
                .trim_start_matches("javac ")
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .and_then(|digits| digits.parse().ok())
                .unwrap_or(0);
            assert!(major >= 17, "this is {}: {need}", text.trim());
        }
    }
}

fn class_path(version: &str, parts: Parts, folder: &Path) -> String {
    let file = folder.join("class-path.txt");
    if let Ok(known) = fs::read_to_string(&file) {
        let whole = known.split(':').all(|jar| Path::new(jar).exists());
        let mirror = format!("connect-mirror-{version}.jar");
        let all = parts == Parts::Broker || known.contains(&mirror);
        if whole && all && known.contains(&format!("kafka_2.13-{version}.jar")) {
            return known;
        }
    }
    let dependency = |group: &str, artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        )
    };
    let mut dependencies = dependency("org.apache.kafka", "kafka_2.13", version)
        + &dependency("org.apache.kafka", "kafka-tools", version);
    if parts == Parts::Mirror {
        dependencies += &dependency("org.apache.kafka", "connect-mirror", version);
    }
    if !version.starts_with("3.") {
        // 4.x logs through log4j 2 and does not bring it.
        dependencies += &dependency("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J);
        dependencies += &dependency("org.apache.logging.log4j", "log4j-core", LOG4J);
    }
    let pom = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>krescue</groupId><artifactId>broker-tests</artifactId><version>1</version>\
         <dependencies>{dependencies}</dependencies></project>"
    );
    fs::write(folder.join("pom.xml"), pom).unwrap();
    let mut command = Command::new("mvn");
    command
        .current_dir(folder)
        .args(["-q", "-B", "dependency:build-classpath"])
        .arg(format!("-Dmdep.outputFile={}", file.display()));
    maven(
        &mut command,
        &format!("fetching Kafka {version} from Maven Central (mvn dependency:build-classpath)"),
    );
    fs::read_to_string(&file).unwrap().trim().to_owned()
}
