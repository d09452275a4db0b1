//! Which version of each API both sides speak.

use std::collections::BTreeMap;

use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::protocol::VersionRange;

use super::api::Api;

/// What a broker speaks, by API key, and the features of its cluster.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    apis: BTreeMap<i16, (i16, i16)>,
    features: BTreeMap<String, i16>,
}

impl Versions {
    pub(super) fn of(response: &ApiVersionsResponse) -> Self {
        let apis = response
            .api_keys
            .iter()
            .map(|api| (api.api_key, (api.min_version, api.max_version)));
        let features = response
            .finalized_features
            .iter()
            .map(|feature| (feature.name.to_string(), feature.max_version_level));
        Self {
            apis: apis.collect(),
            features: features.collect(),
        }
    }

    /// Returns the highest version that both sides speak; `None` if there is none.
    pub fn highest<A: Api>(&self) -> Option<i16> {
        let (min, max) = self.of_api::<A>()?;
        let VersionRange {
            min: our_min,
            max: our_max,
        } = A::VERSIONS;
        let version = max.min(our_max).min(A::MOST);
        (version >= min.max(our_min)).then_some(version)
    }

    /// Returns the broker's lowest and highest version; `None` if it lacks the API.
    pub fn of_api<A: Api>(&self) -> Option<(i16, i16)> {
        self.apis.get(&A::KEY).copied()
    }

    /// Returns the levels of the features that the cluster has finalized, as they were when the connection was made.
    pub fn features(&self) -> &BTreeMap<String, i16> {
        &self.features
    }

    /// Returns the level of a feature that the cluster has finalized, such as `metadata.version`.
    pub fn feature(&self, name: &str) -> Option<i16> {
        self.features.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::api_versions_response::ApiVersion;
    use kafka_protocol::messages::{DescribeTopicPartitionsRequest, ListOffsetsRequest};

    #[test]
    fn the_highest_common_version_is_taken() {
        let api = |key, min, max| {
            ApiVersion::default()
                .with_api_key(key)
                .with_min_version(min)
                .with_max_version(max)
        };
        let versions = |list| Versions::of(&ApiVersionsResponse::default().with_api_keys(list));
        // 2.8, a broker of the future, one that has left our versions behind.
        assert_eq!(
            versions(vec![api(2, 0, 6)]).highest::<ListOffsetsRequest>(),
            Some(6)
        );
        assert_eq!(
            versions(vec![api(2, 1, 99)]).highest::<ListOffsetsRequest>(),
            Some(10)
        );
        assert_eq!(
            versions(vec![api(2, 50, 99)]).highest::<ListOffsetsRequest>(),
            None
        );
        assert_eq!(
            versions(vec![]).highest::<DescribeTopicPartitionsRequest>(),
            None
        );
    }
}
