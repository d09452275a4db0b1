//! The files that a log was before its present one: renamed at the hour, by size, or by logrotate; packed or not.
//!
//! ```text
//! server.log.2026-11-30-07     Kafka's own, closed at the hour
//! server.log.1, server.log.2.gz, server.log-20261130.gz
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// The most plain bytes of all older files that are read: boots are counted in them, and a crash loop writes little.
const MOST_BYTES: u64 = 64 << 20;
/// The most files.
const MOST_FILES: usize = 48;
/// The bytes of one read.
const PIECE: usize = 256 << 10;

/// Returns the files that the log at `path` was before, the oldest first.
pub(super) fn older_files(path: &Path) -> Vec<PathBuf> {
    let Some((dir, name)) = path
        .parent()
        .zip(path.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    // A file name alone has an empty parent.
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let of = entry.file_name();
            let meta = entry.metadata().ok()?;
            let is_older = is_older(of.to_str()?, name) && meta.is_file();
            // Its last line was written then, which packing keeps.
            is_older.then_some((meta.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let unneeded = files.len().saturating_sub(MOST_FILES);
    files.drain(..unneeded);
    files.into_iter().map(|(_, path)| path).collect()
}

/// Says whether `name` is `of` with a number or a date behind it, and perhaps the suffix of a packed file.
fn is_older(name: &str, of: &str) -> bool {
    let Some(rest) = name.strip_prefix(of) else {
        return false;
    };
    let rest = rest.strip_suffix(".gz").unwrap_or(rest);
    let is_number = |rest: &str| {
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        digits > 0
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    rest.strip_prefix(['.', '-']).is_some_and(is_number)
}

/// Says whether a file is packed, by its name.
pub(super) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "gz")
}

/// Opens a file that may be packed.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let file = File::open(path)?;
    Ok(if is_packed(path) {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// Gives the plain bytes of `files` to `take`, an empty piece behind each file; the newest are kept where all are too many.
///
/// A file that cannot be read, or breaks off, ends there: what is in it is lost, and boots go uncounted.
pub(super) fn read_all(files: &[PathBuf], mut take: impl FnMut(&[u8])) {
    let mut left = MOST_BYTES;
    let mut from = files.len();
    // By their sizes on disk, packed ones as if ten times as long.
    while let Some(file) = from.checked_sub(1).and_then(|at| files.get(at)) {
        let len = std::fs::metadata(file).map_or(0, |meta| meta.len());
        let plain = if is_packed(file) {
            len.saturating_mul(10)
        } else {
            len
        };
        if plain > left {
            break;
        }
        left -= plain;
        from -= 1;
    }
    for file in files.get(from..).unwrap_or_default() {
        if let Ok(reader) = open(file) {
            read(reader, &mut take);
        }
        take(&[]);
    }
}

fn read(reader: impl Read, take: &mut impl FnMut(&[u8])) {
    // A packed file may be longer than its size let think.
    let mut bounded = reader.take(MOST_BYTES);
    let mut piece = vec![0; PIECE];
    loop {
        match bounded.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => take(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn older_files_are_told_by_their_names_and_ordered_by_their_times() {
        let tmp = tempfile::tempdir().unwrap();
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (at, name) in [
            (9, "server.log"),
            (3, "server.log.2026-11-30-07"),
            (1, "server.log.2.gz"),
            (2, "server.log-20261130.gz"),
            (4, "server.log.1"),
            (5, "server.log.bak"),
            (5, "server.log.gz"),
            (5, "server.log.1.xz"),
            (5, "controller.log.1"),
            (5, "server.log."),
        ] {
            let file = File::create(tmp.path().join(name)).unwrap();
            file.set_modified(begin + Duration::from_secs(at)).unwrap();
        }
        std::fs::create_dir(tmp.path().join("server.log.7")).unwrap();
        let found = older_files(&tmp.path().join("server.log"));
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(
            names,
            [
                "server.log.2.gz",
                "server.log-20261130.gz",
                "server.log.2026-11-30-07",
                "server.log.1"
            ]
        );
    }

    #[test]
    fn packed_files_are_read_as_they_were() {
        let tmp = tempfile::tempdir().unwrap();
        let packed = tmp.path().join("server.log.2.gz");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"one\n").unwrap();
        let bytes = gz.finish().unwrap();
        std::fs::write(&packed, &bytes).unwrap();
        let torn = tmp.path().join("server.log.3.gz");
        std::fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
        let plain = tmp.path().join("server.log.1");
        std::fs::write(&plain, "two\nthr").unwrap();
        let missing = tmp.path().join("server.log.4");
        let mut pieces = Vec::new();
        read_all(&[packed, torn, missing, plain], |piece| {
            pieces.push(String::from_utf8_lossy(piece).into_owned());
        });
        // Of the one that breaks off, as much as can be unpacked.
        let whole = pieces.concat();
        assert!(
            whole.starts_with("one\n") && whole.ends_with("two\nthr"),
            "{whole}"
        );
        assert!(whole.len() < "one\none\ntwo\nthr".len());
        assert_eq!(pieces.iter().filter(|piece| piece.is_empty()).count(), 4);
    }
}
