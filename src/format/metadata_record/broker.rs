//! Brokers and their log dirs.

use crate::format::cursor::{Cursor, FormatError};
use crate::terms::Uuid;

/// A broker that started (record type 0).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterBroker {
    /// The broker.
    pub broker_id: i32,
    /// The run of the broker; another one at each start.
    pub incarnation_id: Uuid,
    /// Its epoch: the offset of this record.
    pub broker_epoch: i64,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is fenced.
    pub fenced: bool,
    /// The ids of its live log dirs; empty below version 3.
    pub log_dirs: Vec<Uuid>,
    /// Where it listens.
    pub endpoints: Vec<EndPoint>,
}

/// Where a broker listens for clients and other brokers, as it advertises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndPoint {
    /// The listener's name.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Kafka's number of the security protocol.
    pub security_protocol: i16,
}

impl EndPoint {
    /// Returns the security protocol by name; `None` for one that is not known.
    pub fn protocol(&self) -> Option<&'static str> {
        Some(match self.security_protocol {
            0 => "PLAINTEXT",
            1 => "SSL",
            2 => "SASL_PLAINTEXT",
            3 => "SASL_SSL",
            _ => return None,
        })
    }
}

/// Whether a registration changed the fencing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FencingChange {
    /// The broker may serve again.
    Unfence,
    /// It did not.
    None,
    /// The broker may not serve.
    Fence,
}

/// What changed of a registration (record type 17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRegistrationChange {
    /// The broker.
    pub broker_id: i32,
    /// Its epoch.
    pub broker_epoch: i64,
    /// Whether it is fenced or unfenced by this.
    pub fenced: FencingChange,
    /// The ids of its live log dirs; empty where they did not change.
    pub log_dirs: Vec<Uuid>,
}

pub(super) fn register_broker(
    cursor: &mut Cursor<'_>,
    version: u32,
) -> Result<RegisterBroker, FormatError> {
    let broker_id = cursor.i32()?;
    if version >= 2 {
        // Whether the broker is one of ZooKeeper's in migration.
        cursor.bool()?;
    }
    let incarnation_id = cursor.uuid()?;
    let broker_epoch = cursor.i64()?;
    let endpoints = cursor.compact_array(end_point)?;
    cursor.compact_array(skip_feature)?;
    let rack = cursor.compact_nullable_string()?.map(str::to_owned);
    let fenced = cursor.bool()?;
    if version >= 1 {
        // Whether the broker is in a controlled shutdown.
        cursor.bool()?;
    }
    let mut log_dirs = vec![];
    cursor.tagged_fields(|tag, field| {
        if tag == 0 {
            log_dirs = field.compact_array(Cursor::uuid)?;
        }
        Ok(())
    })?;
    Ok(RegisterBroker {
        broker_id,
        incarnation_id,
        broker_epoch,
        rack,
        fenced,
        log_dirs,
        endpoints,
    })
}

pub(super) fn registration_change(
    cursor: &mut Cursor<'_>,
) -> Result<BrokerRegistrationChange, FormatError> {
    let broker_id = cursor.i32()?;
    let broker_epoch = cursor.i64()?;
    let mut fenced = FencingChange::None;
    let mut log_dirs = vec![];
    cursor.tagged_fields(|tag, field| {
        match tag {
            0 => {
                fenced = match field.i8()? {
                    -1 => FencingChange::Unfence,
                    1 => FencingChange::Fence,
                    _ => FencingChange::None,
                }
            }
            2 => log_dirs = field.compact_array(Cursor::uuid)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(BrokerRegistrationChange {
        broker_id,
        broker_epoch,
        fenced,
        log_dirs,
    })
}

fn end_point(cursor: &mut Cursor<'_>) -> Result<EndPoint, FormatError> {
    let name = cursor.compact_string()?.to_owned();
    let host = cursor.compact_string()?.to_owned();
    let port = cursor.u16()?;
    let security_protocol = cursor.i16()?;
    cursor.skip_tagged_fields()?;
    Ok(EndPoint {
        name,
        host,
        port,
        security_protocol,
    })
}

fn skip_feature(cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
    cursor.compact_string()?;
    cursor.i16()?;
    cursor.i16()?;
    cursor.skip_tagged_fields()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::metadata_record::MetadataRecord;
    use crate::format::testing::hex;

    #[test]
    fn log_dirs_are_tagged() {
        let value = hex(
            "01 00 03 00000001 00 00112233445566778899aabbccddeeff 0000000000000005 \
             02 0a 504c41494e54455854 0a 3132372e302e302e31 2384 0000 00 01 00 01 00 \
             01 00 11 02 ffeeddccbbaa99887766554433221100",
        );
        let Ok(MetadataRecord::RegisterBroker(broker)) = MetadataRecord::decode(&value) else {
            panic!("{:?}", MetadataRecord::decode(&value));
        };
        assert_eq!((broker.broker_id, broker.broker_epoch), (1, 5));
        assert!(broker.fenced);
        assert_eq!(broker.log_dirs.len(), 1);
        let [listener] = broker.endpoints.as_slice() else {
            panic!("{broker:?}");
        };
        assert_eq!((listener.name.as_str(), listener.port), ("PLAINTEXT", 9092));
        assert_eq!(listener.host, "127.0.0.1");
        assert_eq!(listener.protocol(), Some("PLAINTEXT"));
    }

    #[test]
    fn a_change_may_only_unfence() {
        let value = hex("01 11 00 00000001 0000000000000005 01 00 01 ff");
        let Ok(MetadataRecord::BrokerRegistrationChange(change)) = MetadataRecord::decode(&value)
        else {
            panic!("{:?}", MetadataRecord::decode(&value));
        };
        assert_eq!(change.fenced, FencingChange::Unfence);
        assert_eq!(change.log_dirs, []);
    }
}
