//! Caps of clients (`DescribeClientQuotas`, `AlterClientQuotas`).

use std::time::Duration;

use kafka_protocol::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;
use kafka_protocol::messages::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, DescribeClientQuotasRequest,
};
use kafka_protocol::protocol::StrBytes;

use crate::client::cluster::{Client, Whom, refused};
use crate::client::error::ClientError;

const CLIENT_ID: &str = "client-id";
const PRODUCER_RATE: &str = "producer_byte_rate";
/// How long a change is tried while the controller moves.
const RETRY_LIMIT: Duration = Duration::from_secs(15);

impl Client {
    /// Returns how many bytes a second a client may write to each broker; `None` for `client_id` means all clients without
    /// a quota of their own, `None` in the answer that nothing is set.
    ///
    /// # Errors
    ///
    /// No broker answers, or not to us.
    pub async fn producer_quota(
        &self,
        client_id: Option<&str>,
    ) -> Result<Option<u64>, ClientError> {
        const EXACT: i8 = 0;
        const DEFAULT: i8 = 1;
        let build = |_| {
            let component = ComponentData::default()
                .with_entity_type(StrBytes::from_static_str(CLIENT_ID))
                .with_match_type(if client_id.is_some() { EXACT } else { DEFAULT })
                .with_match(client_id.map(|id| StrBytes::from_string(id.to_owned())));
            DescribeClientQuotasRequest::default()
                .with_components(vec![component])
                .with_strict(true)
        };
        let (response, _) = self.ask(Whom::Any, build).await?;
        refused(
            response.error_code,
            response.error_message.as_deref(),
            || "the quotas".to_owned(),
        )?;
        let values = response
            .entries
            .unwrap_or_default()
            .into_iter()
            .flat_map(|entry| entry.values);
        let mut rates = values.filter(|value| &*value.key == PRODUCER_RATE);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "brokers take whole bytes above 0 only; the cast saturates"
        )]
        Ok(rates.next().map(|value| value.value as u64))
    }

    /// Sets or takes away that cap.
    ///
    /// # Errors
    ///
    /// The broker refuses, or does not answer.
    pub async fn set_producer_quota(
        &self,
        client_id: Option<&str>,
        bytes_per_s: Option<u64>,
    ) -> Result<(), ClientError> {
        let build = |_| {
            let entity = EntityData::default()
                .with_entity_type(StrBytes::from_static_str(CLIENT_ID))
                .with_entity_name(client_id.map(|id| StrBytes::from_string(id.to_owned())));
            #[expect(
                clippy::cast_precision_loss,
                reason = "the protocol has no integer for it"
            )]
            let op = OpData::default()
                .with_key(StrBytes::from_static_str(PRODUCER_RATE))
                .with_value(bytes_per_s.unwrap_or(0) as f64)
                .with_remove(bytes_per_s.is_none());
            let entry = EntryData::default()
                .with_entity(vec![entity])
                .with_ops(vec![op]);
            AlterClientQuotasRequest::default().with_entries(vec![entry])
        };
        let check = |response: &AlterClientQuotasResponse| {
            response.entries.iter().try_for_each(|entry| {
                let what = || "changing a quota".to_owned();
                refused(entry.error_code, entry.error_message.as_deref(), what)
            })
        };
        self.insist(Whom::Controller, RETRY_LIMIT, build, check)
            .await
            .map(|_| ())
    }
}
