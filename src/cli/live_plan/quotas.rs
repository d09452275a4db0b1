//! Writers that are capped, and let go again.

use super::make::harmless;
use crate::cli::{CliError, Context};
use crate::client::Client;
use crate::engine::{InForce, LiveStore};
use crate::plan::{Cap, LiveAct, LivePlan};

/// Plans a cap.
pub(super) async fn plan(
    context: &Context,
    client: &Client,
    client_id: Option<&str>,
    cap: Cap,
) -> Result<LivePlan, CliError> {
    let metadata = client.metadata(Some(&[])).await?;
    let before = client.producer_quota(client_id).await?;
    let (bytes_per_s, restores) = match cap {
        Cap::Rate(rate) => (Some(rate), None),
        Cap::None => (None, None),
        Cap::Restore => {
            let kept = kept(context, client_id, metadata.cluster_id.as_ref()).ok_or_else(|| {
                CliError::refused("no old cap is kept here").hint(
                    "krescue keeps what it changed itself, in the state dir of the host where it did.",
                )
            })?;
            let Some(LiveAct::ProducerQuota { bytes_per_s, .. }) = kept.plan.inverse() else {
                return Err(CliError::failed("the kept plan has no inverse"));
            };
            (bytes_per_s, Some(kept.hash))
        }
    };
    let act = LiveAct::ProducerQuota {
        client_id: client_id.map(str::to_owned),
        bytes_per_s,
        before,
    };
    Ok(harmless(metadata.cluster_id, act, restores))
}

/// Returns the newest change of this client's cap.
fn kept(
    context: &Context,
    client_id: Option<&str>,
    cluster_id: Option<&String>,
) -> Option<InForce> {
    let dir = context.settings.state_dir.as_ref()?;
    let all = LiveStore::new(&dir.value).in_force();
    all.into_iter().rfind(|kept| {
        let same = matches!(&kept.plan.act, LiveAct::ProducerQuota { client_id: of, .. } if of.as_deref() == client_id);
        same && kept.plan.cluster_id.as_ref() == cluster_id
    })
}
