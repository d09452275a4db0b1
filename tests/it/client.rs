//! Peers that are no broker, or a broken one: a clear error, no panic, no memory for what is only announced.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::support::program::{Ran, run};

/// Serves each connection by `answer`, which gets the first request's correlation id.
fn peer(answer: impl Fn(&mut TcpStream, [u8; 4]) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 12];
            if stream.read_exact(&mut head).is_ok() {
                answer(&mut stream, [head[8], head[9], head[10], head[11]]);
            }
        }
    });
    address
}

fn asked(answer: impl Fn(&mut TcpStream, [u8; 4]) + Send + 'static, config: &str) -> Ran {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("client.properties"), config).unwrap();
    let address = peer(answer);
    let words = [
        "--bootstrap",
        &address,
        "--command-config",
        "client.properties",
        "replicas",
        "--json",
    ];
    run(home.path(), &words)
}

#[track_caller]
fn fails(ran: &Ran, cause: &str) {
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.err.contains(cause), "{}", ran.err);
    assert!(ran.err.contains("  next: "), "{}", ran.err);
    assert!(ran.summary()["cause"].as_str().unwrap().contains(cause));
}

/// A frame with a correlation id and a message.
fn frame(correlation: [u8; 4], message: &[u8]) -> Vec<u8> {
    let body = [&correlation[..], message].concat();
    [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
}

#[test]
fn a_length_of_two_gibibytes_is_no_kafka() {
    let ran = asked(
        |stream, _| drop(stream.write_all(&[0x7f, 0xff, 0xff, 0xff, 0, 0])),
        "",
    );
    fails(&ran, "answers no Kafka");
    let ran = asked(
        |stream, _| drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        "",
    );
    fails(&ran, "answers no Kafka");
    let ran = asked(|stream, _| drop(stream.write_all(&[0xff; 64])), "");
    fails(&ran, "answers no Kafka");
}

#[test]
fn a_truncated_frame_is_a_broken_connection() {
    fails(
        &asked(
            |stream, _| drop(stream.write_all(&[0, 0, 0, 100, 1, 2, 3])),
            "",
        ),
        "broke",
    );
    fails(&asked(|_, _| (), ""), "broke");
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    let silent = |stream: &mut TcpStream, _| {
        // Ends when the other side has given up.
        let _ = stream.read_to_end(&mut Vec::new());
    };
    let ran = asked(silent, "socket.connection.setup.timeout.ms=300\n");
    fails(&ran, "did not answer ApiVersions");
}

#[test]
fn an_array_that_announces_more_than_there_is_takes_no_memory() {
    // Error code, then 2^32 - 2 API versions.
    let huge = |stream: &mut TcpStream, id| {
        let message = [0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0];
        drop(stream.write_all(&frame(id, &message)));
    };
    fails(&asked(huge, ""), "cannot be read");
    let huge_tag = |stream: &mut TcpStream, id| {
        // No API version, no throttle; tag 0 is an array of as many features.
        let message = [0, 0, 1, 0, 0, 0, 0, 1, 0, 6, 0xff, 0xff, 0xff, 0xff, 0x0f];
        drop(stream.write_all(&frame(id, &message)));
    };
    fails(&asked(huge_tag, ""), "cannot be read");
}

#[test]
fn an_answer_to_something_else_is_not_taken() {
    let other = |stream: &mut TcpStream, _| drop(stream.write_all(&frame([9; 4], &[0; 8])));
    fails(&asked(other, ""), "it answers request");
}

#[test]
fn a_broker_that_speaks_nothing_we_know_is_told_so() {
    // Error code 0, one API: 3, versions 90 to 99.
    let alien = |stream: &mut TcpStream, id| {
        let message = [0, 0, 2, 0, 3, 0, 90, 0, 99, 0, 0, 0, 0, 0, 0];
        drop(stream.write_all(&frame(id, &message)));
    };
    let ran = asked(alien, "");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("it has 90 to 99, krescue 0 to 13"),
        "{}",
        ran.err
    );
}

#[test]
fn a_secret_is_in_no_message() {
    let config = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n\
        sasl.jaas.config=M required username=\"anna\" password=\"hunter2\";\n";
    let ran = asked(
        |stream, _| drop(stream.write_all(&[0x7f, 0xff, 0xff, 0xff])),
        config,
    );
    assert_eq!(ran.exit, 1);
    assert!(!format!("{ran:?}").contains("hunter2"));
    let ran = asked(
        |_, _| (),
        "security.protocol=SASL_SSL\nsasl.jaas.config=M required password=\"hunter2\";\n",
    );
    assert_eq!(ran.exit, 2, "{ran:?}");
    assert!(ran.err.contains("GSSAPI") && ran.err.contains("kafka-topics.sh"));
    assert!(!format!("{ran:?}").contains("hunter2"));
}
