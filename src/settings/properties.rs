//! Properties files on disk.

use std::io::{self, Read as _};
use std::path::Path;

use super::SettingsError;
use crate::format::properties::Properties;

/// The largest configuration file that is read, in bytes.
const MAX_LEN: u64 = 16 << 20;

/// Reads a properties file; `None` if it does not exist.
///
/// # Errors
///
/// A file that cannot be read, is no regular file, is absurdly long, or that Java would not load.
pub(super) fn read_properties(path: &Path) -> Result<Option<Properties>, SettingsError> {
    let bytes = read_bytes(path)?;
    bytes
        .map(|bytes| decode_properties(path, &bytes))
        .transpose()
}

/// Reads the properties file of MirrorMaker 2; returns its bytes too.
///
/// # Errors
///
/// A file that is missing, cannot be read, or that Java would not load.
pub fn read_mm2_properties(path: &Path) -> Result<(Properties, Vec<u8>), SettingsError> {
    let bytes = read_bytes(path)?.ok_or_else(|| SettingsError::Read {
        path: path.to_owned(),
        source: io::ErrorKind::NotFound.into(),
    })?;
    Ok((decode_properties(path, &bytes)?, bytes))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, SettingsError> {
    let failed = |source| SettingsError::Read {
        path: path.to_owned(),
        source,
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_LEN + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_LEN {
        return Err(SettingsError::Properties {
            path: path.to_owned(),
            cause: format!("longer than {MAX_LEN} bytes"),
        });
    }
    Ok(Some(bytes))
}

/// Decodes the bytes of the properties file `path`.
///
/// # Errors
///
/// Bytes that Java would not load.
pub(super) fn decode_properties(path: &Path, bytes: &[u8]) -> Result<Properties, SettingsError> {
    Properties::parse(bytes).map_err(|error| SettingsError::Properties {
        path: path.to_owned(),
        cause: error.to_string(),
    })
}
