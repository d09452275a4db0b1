//! The state: what is known of the world, and how it is looked at.

mod boot;
mod free_space;
mod live;
mod logs;
mod mirror;
mod mirror_order;
mod mirror_view;
mod overlay;
mod replicas;
mod segments;
mod table;
mod view;
mod volume_items;
mod volumes;
mod work;
mod world;

pub use boot::{Boot, BootDir, BootRow, BootTold, Once, is_same as is_same_dir};
pub use free_space::{
    FreeDialog, FreeLine, FreeOffer, FreePiece, FreeStage, KeptLeftover, free_lines,
};
pub use live::{Freeing, KeptChange, LiveDialog, LiveWork};
pub use logs::{Choice, DirRow, LogId, LogRow, Logs, Place, is_log, shortens};
pub use mirror::{MirrorFlow, MirrorRead, MirrorWorld};
pub use mirror_order::MirrorColumn;
pub use mirror_view::{MirrorPage, MirrorRow, MirrorSort, MirrorView};
pub use overlay::{CommandLine, Overlay, PROMPT_DEAF_MS, PlanDialog, Prompt};
pub use replicas::{
    ClusterFacts, ClusterSums, ClusterView, ReplicaColumn, ReplicaForecast, ReplicaKey,
    ReplicaScope, ReplicaTable,
};
pub use segments::{
    HostKey, HostRow, Judged, LogKey, MapCell, MapScale, RetentionFacts, SegmentKey, SegmentsView,
    WhatIfEdit, WhatIfField, WhatIfReach, key as log_key, segment_keys,
};
pub use table::{Direction, Filter, LogColumn, LogTable};
pub use view::{Detail, DetailItem, HandOverChoice, NOTICE_MS, Notice, Pending, View};
pub use volume_items::{FilesOfLog, UsageItem, UsageKey};
pub use volumes::{VolumeColumn, VolumeSort, VolumesFacts, VolumesView, row_of};
pub use work::{Work, WorkKind, seconds};
pub use world::{Beside, Ended, Frozen, KilledJob, Setup, ShownPlan, State, Subject, World};
