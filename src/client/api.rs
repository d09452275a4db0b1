//! The requests that krescue sends, each with the layout of its response (Kafka's message definitions, 2.8 to 4.x).

use kafka_protocol::messages::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse, ApiVersionsRequest, ApiVersionsResponse, DeleteRecordsRequest,
    DeleteRecordsResponse, DescribeAclsRequest, DescribeAclsResponse, DescribeClientQuotasRequest,
    DescribeClientQuotasResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    DescribeGroupsRequest, DescribeGroupsResponse, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeProducersRequest, DescribeProducersResponse, DescribeQuorumRequest,
    DescribeQuorumResponse, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    FetchRequest, FetchResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, ListGroupsRequest,
    ListGroupsResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Message};

use super::message::{MessageError, decode_response};
use super::shape::Kind::{Array, Bytes, Fixed, Numbers, Optional, Text};
use super::shape::{Field, Shape, all, between, since};

/// A request, its key and its response.
pub trait Api: Message + Encodable + HeaderVersion {
    /// Kafka's number of the API.
    const KEY: i16;
    /// Kafka's name of it.
    const NAME: &'static str;
    /// The highest version that is asked for; later ones name topics by ids alone.
    const MOST: i16 = i16::MAX;
    /// How the response is laid out.
    const SHAPE: Shape;
    /// The response.
    type Response: Message + Decodable + HeaderVersion;
}

macro_rules! api {
    ($request:ty => $response:ty, $key:literal, $name:literal, $flexible:literal, $fields:expr) => {
        api!($request => $response, $key, $name, $flexible, $fields, &[]);
    };
    ($request:ty => $response:ty, $key:literal, $name:literal, $flexible:literal, $fields:expr, $tagged:expr) => {
        impl Api for $request {
            const KEY: i16 = $key;
            const NAME: &'static str = $name;
            const SHAPE: Shape = Shape {
                flexible: $flexible,
                fields: $fields,
                tagged: $tagged,
            };
            type Response = $response;
        }
    };
}

const BYTE: Field = all(Fixed(1));
const SHORT: Field = all(Fixed(2));
const INT: Field = all(Fixed(4));
const LONG: Field = all(Fixed(8));
const TEXT: Field = all(Text);
const INTS: Field = all(Numbers(4));

api!(ApiVersionsRequest => ApiVersionsResponse, 18, "ApiVersions", 3,
&[SHORT, all(Array(&[SHORT, SHORT, SHORT])), since(1, Fixed(4))],
&[
    (0, Array(&[TEXT, SHORT, SHORT])),
    (1, Fixed(8)),
    (2, Array(&[TEXT, SHORT, SHORT])),
    (3, Fixed(1)),
]);

api!(SaslHandshakeRequest => SaslHandshakeResponse, 17, "SaslHandshake", 32767,
    &[SHORT, all(Array(&[TEXT]))]);

api!(SaslAuthenticateRequest => SaslAuthenticateResponse, 36, "SaslAuthenticate", 2,
    &[SHORT, TEXT, all(Bytes), since(1, Fixed(8))]);

api!(MetadataRequest => MetadataResponse, 3, "Metadata", 9, &[
    since(3, Fixed(4)),
    all(Array(&[INT, TEXT, INT, since(1, Text)])),
    since(2, Text),
    since(1, Fixed(4)),
    all(Array(&[
        SHORT,
        TEXT,
        since(10, Fixed(16)),
        since(1, Fixed(1)),
        all(Array(&[SHORT, INT, INT, since(7, Fixed(4)), INTS, INTS, since(5, Numbers(4))])),
        since(8, Fixed(4)),
    ])),
    between(8, 10, Fixed(4)),
    since(13, Fixed(2)),
]);

api!(DescribeTopicPartitionsRequest => DescribeTopicPartitionsResponse, 75, "DescribeTopicPartitions", 0, &[
    INT,
    all(Array(&[
        SHORT,
        TEXT,
        all(Fixed(16)),
        BYTE,
        all(Array(&[SHORT, INT, INT, INT, INTS, INTS, INTS, INTS, INTS])),
        INT,
    ])),
    all(Optional(&[TEXT, INT])),
]);

api!(ListOffsetsRequest => ListOffsetsResponse, 2, "ListOffsets", 6, &[
    since(2, Fixed(4)),
    all(Array(&[TEXT, all(Array(&[INT, SHORT, LONG, LONG, since(4, Fixed(4))]))])),
]);

api!(DescribeLogDirsRequest => DescribeLogDirsResponse, 35, "DescribeLogDirs", 2, &[
    INT,
    since(3, Fixed(2)),
    all(Array(&[
        SHORT,
        TEXT,
        all(Array(&[TEXT, all(Array(&[INT, LONG, LONG, BYTE]))])),
        since(4, Fixed(8)),
        since(4, Fixed(8)),
    ])),
]);

api!(OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse, 23, "OffsetForLeaderEpoch", 4,
    &[INT, all(Array(&[TEXT, all(Array(&[SHORT, INT, INT, LONG]))]))]);

api!(DescribeConfigsRequest => DescribeConfigsResponse, 32, "DescribeConfigs", 4, &[
    INT,
    all(Array(&[
        SHORT,
        TEXT,
        BYTE,
        TEXT,
        all(Array(&[
            TEXT,
            TEXT,
            BYTE,
            BYTE,
            BYTE,
            all(Array(&[TEXT, TEXT, BYTE])),
            since(3, Fixed(1)),
            since(3, Text),
        ])),
    ])),
]);

api!(IncrementalAlterConfigsRequest => IncrementalAlterConfigsResponse, 44, "IncrementalAlterConfigs", 1,
    &[INT, all(Array(&[SHORT, TEXT, BYTE, TEXT]))]);

api!(DeleteRecordsRequest => DeleteRecordsResponse, 21, "DeleteRecords", 2,
    &[INT, all(Array(&[TEXT, all(Array(&[INT, LONG, SHORT]))]))]);

api!(AlterReplicaLogDirsRequest => AlterReplicaLogDirsResponse, 34, "AlterReplicaLogDirs", 2,
    &[INT, all(Array(&[TEXT, all(Array(&[INT, SHORT]))]))]);

api!(DescribeClientQuotasRequest => DescribeClientQuotasResponse, 48, "DescribeClientQuotas", 1,
    &[INT, SHORT, TEXT, all(Array(&[all(Array(&[TEXT, TEXT])), all(Array(&[TEXT, LONG]))]))]);

api!(AlterClientQuotasRequest => AlterClientQuotasResponse, 49, "AlterClientQuotas", 1,
    &[INT, all(Array(&[SHORT, TEXT, all(Array(&[TEXT, TEXT]))]))]);

const QUORUM_REPLICA: Field = all(Array(&[
    INT,
    since(2, Fixed(16)),
    LONG,
    since(1, Fixed(8)),
    since(1, Fixed(8)),
]));

api!(DescribeQuorumRequest => DescribeQuorumResponse, 55, "DescribeQuorum", 0, &[
    SHORT,
    since(2, Text),
    all(Array(&[
        TEXT,
        all(Array(&[INT, SHORT, since(2, Text), INT, INT, LONG, QUORUM_REPLICA, QUORUM_REPLICA])),
    ])),
    since(2, Array(&[INT, all(Array(&[TEXT, TEXT, SHORT]))])),
]);

api!(ListGroupsRequest => ListGroupsResponse, 16, "ListGroups", 3, &[
    since(1, Fixed(4)),
    SHORT,
    all(Array(&[TEXT, TEXT, since(4, Text), since(5, Text)])),
]);

api!(OffsetFetchRequest => OffsetFetchResponse, 9, "OffsetFetch", 6, &[
    since(3, Fixed(4)),
    between(0, 7, Array(&[
        TEXT,
        all(Array(&[INT, LONG, since(5, Fixed(4)), TEXT, SHORT])),
    ])),
    between(2, 7, Fixed(2)),
    since(8, Array(&[
        TEXT,
        all(Array(&[TEXT, all(Array(&[INT, LONG, INT, TEXT, SHORT]))])),
        SHORT,
    ])),
]);

api!(DescribeGroupsRequest => DescribeGroupsResponse, 15, "DescribeGroups", 5, &[
    since(1, Fixed(4)),
    all(Array(&[
        SHORT,
        since(6, Text),
        TEXT,
        TEXT,
        TEXT,
        TEXT,
        all(Array(&[TEXT, since(4, Text), TEXT, TEXT, all(Bytes), all(Bytes)])),
        since(3, Fixed(4)),
    ])),
]);

api!(FindCoordinatorRequest => FindCoordinatorResponse, 10, "FindCoordinator", 3, &[
    since(1, Fixed(4)),
    between(0, 3, Fixed(2)),
    between(1, 3, Text),
    between(0, 3, Fixed(4)),
    between(0, 3, Text),
    between(0, 3, Fixed(4)),
    since(4, Array(&[TEXT, INT, TEXT, INT, SHORT, TEXT])),
]);

api!(OffsetCommitRequest => OffsetCommitResponse, 8, "OffsetCommit", 8,
    &[since(3, Fixed(4)), all(Array(&[TEXT, all(Array(&[INT, SHORT]))]))]);

api!(DescribeAclsRequest => DescribeAclsResponse, 29, "DescribeAcls", 2, &[
    INT,
    SHORT,
    TEXT,
    all(Array(&[BYTE, TEXT, BYTE, all(Array(&[TEXT, TEXT, BYTE, BYTE]))])),
]);

api!(DescribeProducersRequest => DescribeProducersResponse, 61, "DescribeProducers", 0, &[
    INT,
    all(Array(&[
        TEXT,
        all(Array(&[
            INT,
            SHORT,
            TEXT,
            all(Array(&[LONG, INT, INT, LONG, INT, LONG])),
        ])),
    ])),
]);

impl Api for FetchRequest {
    const KEY: i16 = 1;
    const NAME: &'static str = "Fetch";
    const MOST: i16 = 11;
    const SHAPE: Shape = Shape {
        flexible: 12,
        fields: &[
            INT,
            since(7, Fixed(2)),
            since(7, Fixed(4)),
            all(Array(&[
                TEXT,
                all(Array(&[
                    INT,
                    SHORT,
                    LONG,
                    LONG,
                    since(5, Fixed(8)),
                    all(Array(&[LONG, LONG])),
                    since(11, Fixed(4)),
                    all(Bytes),
                ])),
            ])),
        ],
        tagged: &[],
    };
    type Response = FetchResponse;
}

/// Decodes a response to request 1 of the API `key`; for checks that know bytes only.
///
/// # Errors
///
/// A frame that is no such response, or an API that krescue does not ask.
pub fn decode_any(key: i16, version: i16, frame: &[u8]) -> Result<(), MessageError> {
    type Decode = fn(&[u8], i16, i32) -> Result<(), MessageError>;
    fn decode<A: Api>(frame: &[u8], version: i16, correlation: i32) -> Result<(), MessageError> {
        decode_response::<A>(frame, version, correlation).map(|_| ())
    }
    fn of<A: Api>() -> (i16, Decode) {
        (A::KEY, decode::<A>)
    }
    let all = [
        of::<ApiVersionsRequest>(),
        of::<SaslHandshakeRequest>(),
        of::<SaslAuthenticateRequest>(),
        of::<MetadataRequest>(),
        of::<DescribeTopicPartitionsRequest>(),
        of::<ListOffsetsRequest>(),
        of::<DescribeLogDirsRequest>(),
        of::<OffsetForLeaderEpochRequest>(),
        of::<DescribeConfigsRequest>(),
        of::<IncrementalAlterConfigsRequest>(),
        of::<DeleteRecordsRequest>(),
        of::<AlterReplicaLogDirsRequest>(),
        of::<DescribeClientQuotasRequest>(),
        of::<AlterClientQuotasRequest>(),
        of::<DescribeQuorumRequest>(),
        of::<ListGroupsRequest>(),
        of::<OffsetFetchRequest>(),
        of::<DescribeGroupsRequest>(),
        of::<FindCoordinatorRequest>(),
        of::<OffsetCommitRequest>(),
        of::<DescribeAclsRequest>(),
        of::<DescribeProducersRequest>(),
        of::<FetchRequest>(),
    ];
    let found = all.iter().find(|(known, _)| *known == key);
    let (_, decode) = found.ok_or_else(|| MessageError::Value(format!("no API {key}")))?;
    decode(frame, version, 1)
}
