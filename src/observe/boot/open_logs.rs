//! Which files of logs a process has opened.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The open files of one process, from one look to the next.
#[derive(Debug, Default)]
pub(super) struct OpenLogs {
    /// Descriptors that stand for segments; a log keeps them open once it is loaded.
    logs: BTreeMap<u32, PathBuf>,
    /// The inodes of its sockets.
    sockets: Vec<u64>,
}

impl OpenLogs {
    /// Returns the segments that were opened since the last look, as the process names them.
    ///
    /// # Errors
    ///
    /// Another user's process, without the right to see.
    pub(super) fn look(&mut self, proc: &Path, pid: u32) -> io::Result<Vec<PathBuf>> {
        let mut logs = BTreeMap::new();
        let mut new = Vec::new();
        self.sockets.clear();
        for entry in fs::read_dir(proc.join(pid.to_string()).join("fd"))? {
            let Ok(path) = entry.map(|entry| entry.path()) else {
                continue;
            };
            let number = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            let Some(number) = number else { continue };
            if let Some(known) = self.logs.remove(&number) {
                logs.insert(number, known);
                continue;
            }
            // It may have been closed meanwhile.
            let Ok(file) = fs::read_link(&path) else {
                continue;
            };
            if file.extension() == Some(OsStr::new("log")) {
                new.push(file.clone());
                logs.insert(number, file);
            } else if let Some(inode) = socket(&file) {
                self.sockets.push(inode);
            }
        }
        self.logs = logs;
        Ok(new)
    }

    /// Says whether a socket is one of the process', as of the last look.
    pub(super) fn has_socket(&self, inode: u64) -> bool {
        self.sockets.contains(&inode)
    }
}

/// Returns the inode in `socket:[812]`.
fn socket(link: &Path) -> Option<u64> {
    let inode = link.to_str()?.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

/// Returns the inodes of the sockets that listen at one of `ports`, where process `pid` has its network.
pub(super) fn listening(proc: &Path, pid: u32, ports: &[u16]) -> Vec<u64> {
    let tables = ["tcp", "tcp6"].map(|name| {
        let path = proc.join(pid.to_string()).join("net").join(name);
        fs::read_to_string(path).unwrap_or_default()
    });
    let lines = tables.iter().flat_map(|table| table.lines());
    lines
        .filter_map(listener)
        .filter(|(port, _)| ports.contains(port))
        .map(|(_, inode)| inode)
        .collect()
}

/// Says whether process `pid` listens at one of `ports`; where its sockets are hidden, whether anybody does.
pub fn is_listening(proc: &Path, pid: u32, ports: &[u16]) -> bool {
    let mut open = OpenLogs::default();
    let is_seen = open.look(proc, pid).is_ok();
    let mut sockets = listening(proc, pid, ports).into_iter();
    sockets.any(|inode| !is_seen || open.has_socket(inode))
}

/// Returns where somebody listens in the network of this process.
pub fn listening_here(proc: &Path) -> Vec<(IpAddr, u16)> {
    let tables = ["tcp", "tcp6"].map(|name| {
        let path = proc.join("self/net").join(name);
        fs::read_to_string(path).unwrap_or_default()
    });
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines.filter_map(listening_address).collect()
}

/// Returns the address of a line of `/proc/net/tcp`, if its socket listens.
fn listening_address(line: &str) -> Option<(IpAddr, u16)> {
    let (port, _) = listener(line)?;
    let (ip, _) = line.split_whitespace().nth(1)?.rsplit_once(':')?;
    // Words of 32 bits, each as the processor keeps it.
    let words = ip.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).ok()?;
        Some(u32::from_be(u32::from_str_radix(word, 16).ok()?).to_be_bytes())
    });
    let bytes: Vec<u8> = words.collect::<Option<Vec<_>>>()?.concat();
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?).to_canonical(),
    };
    Some((ip, port))
}

/// Returns port and inode of a line of `/proc/net/tcp`, if its socket listens.
fn listener(line: &str) -> Option<(u16, u64)> {
    const LISTENS: &str = "0A";
    let mut fields = line.split_whitespace();
    let (_, port) = fields.nth(1)?.rsplit_once(':')?;
    if fields.nth(1)? != LISTENS {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    Some((u16::from_str_radix(port, 16).ok()?, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = own.local_addr().unwrap();
        let here = listening_here(Path::new("/proc"));
        assert!(here.contains(&(address.ip(), address.port())), "{here:?}");
        drop(own);
        let here = listening_here(Path::new("/proc"));
        assert!(!here.contains(&(address.ip(), address.port())));
    }

    #[test]
    fn each_segment_is_told_once_while_it_is_open() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("7/fd");
        fs::create_dir_all(&dir).unwrap();
        let link = |number: u32, to: &str| {
            std::os::unix::fs::symlink(to, dir.join(number.to_string())).unwrap();
        };
        let mut open = OpenLogs::default();
        link(1, "/var/log/server.out");
        link(2, "socket:[812]");
        link(3, "/d/a-0/00000000000000000000.log");
        let look = |open: &mut OpenLogs| open.look(tmp.path(), 7).unwrap();
        assert_eq!(
            look(&mut open),
            [Path::new("/d/a-0/00000000000000000000.log")]
        );
        assert!(open.has_socket(812) && !open.has_socket(1));
        link(4, "/d/b-0/00000000000000000005.log");
        assert_eq!(
            look(&mut open),
            [Path::new("/d/b-0/00000000000000000005.log")]
        );
        assert!(look(&mut open).is_empty());
        assert!(open.look(tmp.path(), 8).is_err());
    }

    #[test]
    fn only_sockets_that_listen_count() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("7/net");
        fs::create_dir_all(&dir).unwrap();
        let line = |port: &str, state: &str, inode: u64| {
            format!(
                "   0: 0100007F:{port} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0\n"
            )
        };
        let text = format!(
            "  sl  local_address rem_address   st\n{}{}",
            line("2384", "0A", 5),
            line("2385", "01", 6)
        );
        fs::write(dir.join("tcp"), text).unwrap();
        assert_eq!(listening(tmp.path(), 7, &[9092, 9093]), [5]);
        assert!(listening(tmp.path(), 7, &[9093]).is_empty());
    }
}
