//! A broker that lets nobody in without TLS, a login or a certificate.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use crate::loading::work_folder;
use crate::support::broker::{Broker, PATIENCE, Seat, free_ports};
use crate::support::kafka::{Kafka, run, tool};
use crate::support::trio::Told;

#[test]
fn tls_scram_plain_and_certificates_let_in_3_9_1() {
    secured("3.9.1");
}

#[test]
fn tls_scram_plain_and_certificates_let_in_4_4_0() {
    secured("4.4.0");
}

const PASSWORD: &str = "open;sesame";
const SCRAM: &str = "scram.ScramLoginModule";

fn secured(version: &str) {
    let kafka = Kafka::resolve(version);
    let folder = work_folder(&format!("security-{version}"));
    for name in ["broker", "client"] {
        certificate(&kafka, &folder, name);
    }
    let seat = Seat::of_cluster(1).remove(0);
    let ports = free_ports(2);
    let (plain, controller) = seat.ports();
    let at = |name: &str, port: u16| format!("{name}://127.0.0.1:{port}");
    let outside = [
        at("PLAINTEXT", plain),
        at("SASL_SSL", ports[0]),
        at("SSL", ports[1]),
    ]
    .join(",");
    let place = folder.display();
    let settings = [
        format!("listeners={outside},{}", at("CONTROLLER", controller)),
        format!("advertised.listeners={outside}"),
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL".to_owned(),
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512".to_owned(),
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;".to_owned(),
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;".to_owned(),
        format!("listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_anna=\"{PASSWORD}\";"),
        format!("ssl.keystore.type=PEM\nssl.keystore.location={place}/broker.pem"),
        format!("ssl.truststore.type=PEM\nssl.truststore.location={place}/client-certificate.pem"),
        "listener.name.ssl.ssl.client.auth=required".to_owned(),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let node = folder.join("node");
    fs::create_dir_all(&node).unwrap();
    let mut broker = Broker::seated(Arc::clone(&kafka), &node, seat, &settings);
    let user = |hash: &str| format!("{hash}=[name=anna,password={PASSWORD}]");
    broker.format(&[
        "--add-scram",
        &user("SCRAM-SHA-256"),
        "--add-scram",
        &user("SCRAM-SHA-512"),
    ]);
    broker.start();

    let tls = format!(
        "ssl.truststore.type=PEM\nssl.truststore.location={place}/broker-certificate.pem\n"
    );
    let login = |mechanism: &str, module: &str, password: &str| {
        format!(
            "security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n\
             sasl.jaas.config=org.apache.kafka.common.security.{module} required username=\"anna\" password=\"{password}\";\n{tls}"
        )
    };
    let [sasl, mutual] = [0, 1].map(|at: usize| format!("127.0.0.1:{}", ports[at]));
    let ask = |address: &str, config: &str| asked(&folder, address, config);
    let plain = login("PLAIN", "plain.PlainLoginModule", PASSWORD);
    lets_in(|| ask(&sasl, &plain));
    for (mechanism, module) in [
        ("SCRAM-SHA-256", SCRAM),
        ("SCRAM-SHA-512", SCRAM),
        ("PLAIN", "plain.PlainLoginModule"),
    ] {
        let told = ask(&sasl, &login(mechanism, module, PASSWORD)).exits(0);
        assert_eq!(
            told.lines[0]["brokers"],
            serde_json::json!([1]),
            "{mechanism}: {}",
            told.out
        );
        let told = ask(&sasl, &login(mechanism, module, "wrong")).exits(1);
        assert!(told.err.contains(mechanism), "{}", told.err);
        assert!(
            !told.err.contains("wrong") && !told.out.contains("wrong"),
            "{}{}",
            told.err,
            told.out
        );
    }
    mirrors_own_keys(&folder, &sasl, &login("PLAIN", SCRAM, "wrong"));
    let identity = format!(
        "security.protocol=SSL\n{tls}ssl.keystore.type=PEM\nssl.keystore.location={place}/client.pem\n"
    );
    lets_in(|| ask(&mutual, &identity));
    ask(&mutual, &identity).exits(0);
    // Without a certificate of ours, with another's trust, with the wrong security.
    ask(&mutual, &format!("security.protocol=SSL\n{tls}")).exits(1);
    let foreign = identity.replace("broker-certificate", "client-certificate");
    let told = ask(&mutual, &foreign).exits(1);
    assert!(told.err.contains("TLS with"), "{}", told.err);
    ask(&mutual, "security.protocol=PLAINTEXT\n").exits(1);
    let told = ask(
        &broker.bootstrap(),
        &login("SCRAM-SHA-512", SCRAM, PASSWORD),
    )
    .exits(1);
    assert!(told.err.contains("next: "), "{}", told.err);
    // The certificate names the address, not the name: without the check of names both will do.
    let named = format!("localhost:{}", ports[1]);
    ask(&named, &identity).exits(1);
    ask(
        &named,
        &format!("{identity}ssl.endpoint.identification.algorithm=\n"),
    )
    .exits(0);
    drop(broker);
    fs::remove_dir_all(&folder).unwrap();
}

/// Asks until it is let in: the first handshakes of a Java that has just begun may take longer than krescue waits.
fn lets_in(ask: impl Fn() -> Told) {
    let begin = Instant::now();
    while ask().exit != 0 {
        assert!(begin.elapsed() < PATIENCE, "the broker lets nobody in");
    }
}

/// MirrorMaker 2's file gives the security: the general keys, better ones of the cluster, the flow's own best of all.
fn mirrors_own_keys(folder: &Path, address: &str, general: &str) {
    let file = folder.join("mm2.properties");
    let right = format!(
        "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"anna\" password=\"{PASSWORD}\";"
    );
    let text = format!(
        "clusters = here, there\nhere.bootstrap.servers = {address}\nthere.bootstrap.servers = {address}\n{general}\
         here.sasl.mechanism = SCRAM-SHA-512\n"
    );
    let cluster = format!("here={address}");
    let ask = |text: &str| {
        fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
        command
            .env("XDG_STATE_HOME", folder.join("state"))
            .args(["mirror", "facts", "--cluster", &cluster, "--mm2"])
            .arg(&file)
            .stdin(Stdio::null());
        Told::of(command.output().unwrap())
    };
    // The general login is a wrong one.
    let told = ask(&text).exits(1);
    assert!(told.err.contains("SCRAM-SHA-512"), "{}", told.err);
    for key in [
        "here.sasl.jaas.config",
        "here->there.source.admin.sasl.jaas.config",
    ] {
        let told = ask(&format!("{text}{key} = {right}\n")).exits(0);
        let here = &told.lines[0]["facts"]["clusters"]["here"];
        assert_eq!(here["sources"][0]["live"], true, "{}", told.out);
        assert!(!told.out.contains(PASSWORD), "{}", told.out);
    }
    // Another flow's login is not this cluster's.
    ask(&format!(
        "{text}there->here.source.admin.sasl.jaas.config = {right}\n"
    ))
    .exits(1);
}

/// Asks with a client's configuration.
fn asked(folder: &Path, address: &str, config: &str) -> Told {
    let file = folder.join("client.properties");
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_krescue"));
    command
        .env("XDG_STATE_HOME", folder.join("state"))
        .args(["--bootstrap", address, "--command-config"])
        .arg(&file)
        .args(["replicas", "--json"])
        .stdin(Stdio::null());
    Told::of(command.output().unwrap())
}

/// Makes a key and a certificate for this machine's address, as PEM.
fn certificate(kafka: &Kafka, folder: &Path, name: &str) {
    let store = folder.join(format!("{name}.p12"));
    let mut keytool = Command::new(tool("keytool"));
    keytool
        .args([
            "-genkeypair",
            "-alias",
            name,
            "-keyalg",
            "RSA",
            "-keysize",
            "2048",
        ])
        .args([
            "-dname",
            &format!("CN={name}"),
            "-ext",
            "san=ip:127.0.0.1",
            "-validity",
            "30",
        ])
        .args([
            "-storetype",
            "PKCS12",
            "-storepass",
            "password",
            "-keystore",
        ])
        .arg(&store);
    run(&mut keytool, "making a certificate");
    let mut pem = kafka.java("128m", "WritePem");
    pem.arg(&store)
        .arg("password")
        .arg(folder.join(format!("{name}.pem")))
        .arg(folder.join(format!("{name}-certificate.pem")));
    run(&mut pem, "writing it as PEM");
}
