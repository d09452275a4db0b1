//! How the world is looked at.

use std::path::PathBuf;

use crate::app::action::PaneId;
use crate::app::event::{BytesView, Level};
use crate::plan::HandOver;
use crate::terms::{Position, Timestamp};

use super::logs::{LogId, LogRow};
use super::mirror_view::MirrorView;
use super::overlay::Overlay;
use super::replicas::ReplicaTable;
use super::segments::SegmentsView;
use super::table::LogTable;
use super::volumes::VolumesView;
use super::world::World;

/// Milliseconds for which a notice is shown.
pub const NOTICE_MS: i64 = 8_000;

/// What the next plan hands the dirs over as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandOverChoice(pub HandOver);

impl HandOverChoice {
    /// Returns it for a plan that is not of all logs: such a plan plants no clean marker.
    pub fn unless_clean(self) -> HandOver {
        match self.0 {
            HandOver::Clean => HandOver::Verify,
            other => other,
        }
    }
}

/// One line to be told in passing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How bad.
    pub level: Level,
    /// What.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// A line of an open log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailItem {
    /// A finding, by its index.
    Finding(usize),
    /// A segment of the plan, by its index.
    Segment(usize),
}

/// A log that was entered.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// Which.
    pub log: LogId,
    /// The line under the cursor.
    pub cursor: usize,
    /// The bytes of the line under the cursor, once they were read.
    pub bytes: Option<BytesView>,
    /// The place whose bytes were asked for last.
    pub asked: Option<(PathBuf, Position)>,
}

impl Detail {
    /// Returns the view of a log, at its first line.
    pub fn new(log: LogId) -> Self {
        Self {
            log,
            cursor: 0,
            bytes: None,
            asked: None,
        }
    }

    /// Returns the lines of the log: its findings, then its segments.
    pub fn items(world: &World, row: &LogRow) -> Vec<DetailItem> {
        let segments = world.planned(row).map_or(0, |plan| plan.segments.len());
        (0..row.findings.len())
            .map(DetailItem::Finding)
            .chain((0..segments).map(DetailItem::Segment))
            .collect()
    }

    /// Returns the file and the place that the line under the cursor speaks of.
    pub fn place(&self, world: &World) -> Option<(PathBuf, Position)> {
        let row = world.logs.row(self.log)?;
        let dir = world.logs.dir_of(row)?.path.join(&row.dir_name);
        match *Self::items(world, row).get(self.cursor)? {
            DetailItem::Finding(index) => {
                let finding = row.findings.get(index)?;
                let file = finding.file.as_ref()?;
                Some((dir.join(file), finding.position.unwrap_or_default()))
            }
            DetailItem::Segment(index) => {
                let segment = world.planned(row)?.segments.get(index)?;
                let file = format!("{:020}.log", segment.base_offset.0);
                let end = segment.valid_bytes.unwrap_or(0);
                let at = if end < segment.bytes { end } else { 0 };
                Some((dir.join(file), Position(at)))
            }
        }
    }
}

/// What is to happen once what runs has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pending {
    /// Nothing.
    #[default]
    Nothing,
    /// The plan is shown.
    ShowPlan,
    /// The plans that can be taken back are shown.
    ShowKept,
    /// The program ends.
    Quit,
}

/// How the world is looked at.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The pane in front.
    pub pane: PaneId,
    /// The table of logs.
    pub table: LogTable,
    /// The table of replicas.
    pub replicas: ReplicaTable,
    /// The log that was entered.
    pub detail: Option<Detail>,
    /// The segments pane.
    pub segments: SegmentsView,
    /// The volumes pane.
    pub volumes: VolumesView,
    /// What lies over the panes; the last takes the keys.
    pub overlays: Vec<Overlay>,
    /// The mirror pane.
    pub mirror: MirrorView,
    /// What is told in passing.
    pub notice: Option<Notice>,
    /// What the next plan hands the dirs over as.
    pub hand_over: HandOverChoice,
    /// What is to happen once what runs has ended.
    pub pending: Pending,
}

impl View {
    /// Returns what takes the keys, if that is not the pane.
    pub fn top(&self) -> Option<&Overlay> {
        self.overlays.last()
    }

    /// Returns what takes the keys, to be changed.
    pub fn top_mut(&mut self) -> Option<&mut Overlay> {
        self.overlays.last_mut()
    }

    /// Tells something in passing.
    pub fn tell(&mut self, level: Level, text: impl Into<String>, at: Timestamp) {
        self.notice = Some(Notice {
            level,
            text: text.into(),
            at,
        });
    }
}
