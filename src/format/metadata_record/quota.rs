//! Quotas of clients.

use crate::format::cursor::{Cursor, FormatError};

/// Part of what a quota is for: its kind (`user`, `client-id`, `ip`) and name; no name stands for the default.
pub type QuotaEntity = Vec<(String, Option<String>)>;

/// One quota of one entity (record type 14).
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuotaRecord {
    /// What it is for, sorted by kind.
    pub entity: QuotaEntity,
    /// The quota's key.
    pub key: String,
    /// Its value; `None` removes it.
    pub value: Option<f64>,
}

pub(super) fn client_quota(cursor: &mut Cursor<'_>) -> Result<ClientQuotaRecord, FormatError> {
    let mut entity = cursor.compact_array(|part| {
        let kind = part.compact_string()?.to_owned();
        let name = part.compact_nullable_string()?.map(str::to_owned);
        part.skip_tagged_fields()?;
        Ok((kind, name))
    })?;
    entity.sort();
    let key = cursor.compact_string()?.to_owned();
    let value = f64::from_bits(cursor.i64()?.cast_unsigned());
    let is_removed = cursor.bool()?;
    cursor.skip_tagged_fields()?;
    Ok(ClientQuotaRecord {
        entity,
        key,
        value: (!is_removed).then_some(value),
    })
}

#[cfg(test)]
mod tests {
    use crate::format::metadata_record::MetadataRecord;
    use crate::format::testing::hex;

    #[test]
    fn a_quota_names_its_entity_and_may_be_removed() {
        let head = "01 0e 00 02 05 75736572 04 626f62 00 04 616263 3ff0000000000000";
        let decode = |tail: &str| match MetadataRecord::decode(&hex(&format!("{head} {tail}"))) {
            Ok(MetadataRecord::ClientQuota(quota)) => quota,
            other => panic!("{other:?}"),
        };
        let quota = decode("00 00");
        assert_eq!(quota.entity, [("user".to_owned(), Some("bob".to_owned()))]);
        assert_eq!((quota.key.as_str(), quota.value), ("abc", Some(1.0)));
        assert_eq!(decode("01 00").value, None);
    }
}
