//! One question by HTTP: bounded in time and in bytes, without TLS.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use super::agent::MetricsAgent;

/// The most bytes of an answer: ten thousand partitions with all their beans are less.
const MOST_BYTES: u64 = 64 << 20;
/// The most bytes before an answer's body.
const MOST_HEAD: usize = 64 << 10;

/// Asks for `path` and returns the body; gives up after `patience`.
///
/// # Errors
///
/// Why there is no answer, a clause.
pub(super) fn get(agent: &MetricsAgent, path: &str, patience: Duration) -> Result<Vec<u8>, String> {
    let end = Instant::now() + patience;
    let answer = exchange(agent, path, end).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("{agent} does not answer within {} s", patience.as_secs())
        }
        _ => format!("{agent}: {error}"),
    })?;
    body(&answer).map_err(|why| format!("{agent} {why}"))
}

fn exchange(agent: &MetricsAgent, path: &str, end: Instant) -> io::Result<Vec<u8>> {
    let mut error = io::Error::other("its host has no address");
    for address in (agent.host.as_str(), agent.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(end)?) {
            Ok(stream) => return ask(stream, agent, path, end),
            Err(refused) => error = refused,
        }
    }
    Err(error)
}

fn ask(
    mut stream: TcpStream,
    agent: &MetricsAgent,
    path: &str,
    end: Instant,
) -> io::Result<Vec<u8>> {
    stream.set_write_timeout(Some(left(end)?))?;
    // 1.0: the answer ends with the connection, and is not cut into chunks.
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: {}:{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        agent.host, agent.port
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// Returns the body of a whole answer.
fn body(answer: &[u8]) -> Result<Vec<u8>, String> {
    let head = answer.get(..MOST_HEAD).unwrap_or(answer);
    let end = memchr::memmem::find(head, b"\r\n\r\n").ok_or("does not speak HTTP")?;
    let (head, body) = answer.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut words = head.split_whitespace();
    let is_http = words.next().is_some_and(|word| word.starts_with("http/1."));
    let status: Option<u16> = words.next().and_then(|word| word.parse().ok());
    match status.filter(|_| is_http) {
        None => return Err("does not speak HTTP".to_owned()),
        Some(200) => {}
        Some(status) => return Err(format!("answers with HTTP status {status}")),
    }
    let field = |name: &str| {
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        fields
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim())
    };
    if field("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        return Err("answers in chunks, which HTTP/1.0 does not have".to_owned());
    }
    let length = field("content-length").and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| body.len() < length) {
        return Err("broke off in the middle of its answer".to_owned());
    }
    Ok(body.to_vec())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// Asks a server that says `answer` to whoever comes, once.
    fn asked(answer: &'static [u8]) -> Result<Vec<u8>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let read = stream.read(&mut request).unwrap();
            // The client may have heard enough before all is said.
            let _ = stream.write_all(answer);
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let agent = MetricsAgent::parse_url(&format!("http://127.0.0.1:{port}/m")).unwrap();
        let said = get(&agent, &agent.path, PATIENCE);
        let request = server.join().unwrap();
        assert!(
            request.starts_with("GET /m HTTP/1.0\r\nHost: 127.0.0.1:"),
            "{request}"
        );
        said
    }

    #[test]
    fn an_answer_is_its_body() {
        assert_eq!(
            asked(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nx 1\n"),
            Ok(b"x 1\n".to_vec())
        );
        let long = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx 1\n";
        assert!(asked(long).unwrap_err().contains("broke off"));
        let refused = b"HTTP/1.1 401 Unauthorized\r\n\r\n";
        assert!(asked(refused).unwrap_err().contains("status 401"));
        let chunks =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nx 1\n\r\n0\r\n\r\n";
        assert!(asked(chunks).unwrap_err().contains("chunks"));
        for other in [
            &b"SSH-2.0-OpenSSH\r\n"[..],
            b"",
            b"\r\n\r\n",
            b"HTTP/1.1\r\n\r\n",
        ] {
            assert!(asked(other).unwrap_err().contains("does not speak HTTP"));
        }
    }

    #[test]
    fn nobody_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let agent = MetricsAgent::parse_url(&format!("http://127.0.0.1:{port}")).unwrap();
        // It takes the call and says nothing.
        let said = get(&agent, "/", Duration::from_millis(50));
        assert!(said.unwrap_err().contains("does not answer"));
        drop(listener);
        assert!(
            get(&agent, "/", PATIENCE)
                .unwrap_err()
                .contains("http://127.0.0.1:")
        );
    }
}
