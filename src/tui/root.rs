//! The frame around the panes.
//!
//! ```text
//!  krescue │ broker 3 · kafka-07 · Kafka 4.1.1 · down, unclean            LOOKING  14:02:31
//!  DO NOT START: a boot deletes 48 segments, 48.0 GiB, of payments-0        Enter: decide
//!  1 overview  2 recovery  7 log                                                    ? keys
//!  ... pane ...
//!  data2 › orders-7                                      / filter  : command  x acts  ? keys
//! ```

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget as _};

use crate::app::facts::Presence;
use crate::app::situation::Situation;
use crate::app::state::{State, Subject};
use crate::app::{Action, boot_words, text, words};

use super::canvas::{cut, fill, put, put_right, to_ascii, width};
use super::keymap;
use super::overlays;
use super::pane::{Pane, PaneId};
use super::panes::{
    LogPane, MirrorPane, OverviewPane, RecoveryPane, ReplicasPane, SegmentsPane, VolumesPane,
};
use super::theme::Theme;

/// Below this size there is one line only.
const LEAST: (u16, u16) = (40, 10);

/// How a screen is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The colours.
    pub theme: Theme,
    /// Which characters are drawn with.
    pub charset: Charset,
    /// Whether lines of the log begin with their time; screens that are compared have none.
    pub log_times: bool,
}

/// Which characters are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Lines, blocks and arrows.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// The whole screen.
#[derive(Debug)]
pub struct Root {
    look: Look,
    overview: OverviewPane,
    recovery: RecoveryPane,
    mirror: MirrorPane,
    segments: SegmentsPane,
    volumes: VolumesPane,
    replicas: ReplicasPane,
    log: LogPane,
}

impl Root {
    /// Returns the screen with its panes.
    pub fn new(look: Look) -> Self {
        Self {
            overview: OverviewPane::new(look.log_times),
            recovery: RecoveryPane::default(),
            mirror: MirrorPane::default(),
            segments: SegmentsPane::default(),
            volumes: VolumesPane::default(),
            replicas: ReplicasPane::default(),
            log: LogPane::new(look.log_times),
            look,
        }
    }

    /// Returns what a key asks for.
    pub fn on_key(&self, state: &State, key: KeyEvent) -> Action {
        if let Some(overlay) = state.view.top() {
            return overlays::on_key(overlay, key).unwrap_or(Action::Nothing);
        }
        if keymap::is_interrupt(key) {
            return Action::Quit;
        }
        self.pane(state.view.pane)
            .on_key(state, key)
            .or_else(|| keymap::find(&keymap::GLOBAL, key, 1))
            .unwrap_or(Action::Nothing)
    }

    /// Draws the screen; any size will do.
    pub fn render(&mut self, state: &State, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        Clear.render(area, buf);
        if area.width < LEAST.0 || area.height < LEAST.1 {
            self.too_small(state, area, buf);
        } else {
            self.frame(state, area, buf);
        }
        if self.look.charset == Charset::Ascii {
            to_ascii(buf);
        }
    }

    fn frame(&mut self, state: &State, area: Rect, buf: &mut Buffer) {
        let line = |y: u16| Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        let pane_area = Rect {
            y: area.y + 3,
            height: area.height - 4,
            ..area
        };
        let theme = self.look.theme.clone();
        head(state, &theme, line(0), buf);
        situation(state, &theme, line(1), buf);
        tabs(state, &theme, line(2), buf);
        foot(state, &theme, line(area.height - 1), buf);
        self.pane_mut(state.view.pane)
            .render(state, &theme, pane_area, buf);
        let bindings = self.pane(state.view.pane).bindings(state);
        for overlay in &state.view.overlays {
            overlays::render(overlay, state, &theme, &bindings, (pane_area, buf));
        }
    }

    /// Says that the screen is too small, and still what must not be done.
    fn too_small(&self, state: &State, area: Rect, buf: &mut Buffer) {
        let theme = &self.look.theme;
        let text = format!("enlarge to {}x{}", LEAST.0, LEAST.1);
        put(buf, area, (0, 0), &cut(&text, area.width), theme.warn);
        let situation = Situation::of(state);
        put(
            buf,
            area,
            (0, 1),
            &cut(&situation.text, area.width),
            theme.urgency(situation.urgency),
        );
    }

    fn pane(&self, id: PaneId) -> &dyn Pane {
        match id {
            PaneId::Overview => &self.overview,
            PaneId::Recovery => &self.recovery,
            PaneId::Segments => &self.segments,
            PaneId::Volumes => &self.volumes,
            PaneId::Replicas => &self.replicas,
            PaneId::Mirror => &self.mirror,
            PaneId::Log => &self.log,
        }
    }

    fn pane_mut(&mut self, id: PaneId) -> &mut dyn Pane {
        match id {
            PaneId::Overview => &mut self.overview,
            PaneId::Recovery => &mut self.recovery,
            PaneId::Segments => &mut self.segments,
            PaneId::Volumes => &mut self.volumes,
            PaneId::Replicas => &mut self.replicas,
            PaneId::Mirror => &mut self.mirror,
            PaneId::Log => &mut self.log,
        }
    }
}

fn head(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let mode = match (state.session.is_armed(), state.session.forbidden()) {
        _ if state.setup.subject == Subject::Recording => "REPLAY",
        (true, _) => "ARMED",
        (false, Some(_)) => "READ-ONLY",
        (false, None) => "LOOKING",
    };
    let clock = text::clock(state.now, &state.setup.zone);
    let mut right = format!("{mode}  {clock} ");
    // Whatever else the screen says, also while nothing runs: it is to be put back.
    let is_changed = !state.world.in_force.is_empty();
    if is_changed {
        let badge = if area.width < 100 {
            "EMERGENCY"
        } else {
            "EMERGENCY VALUE"
        };
        right = format!("{badge}  {right}");
    }
    if let Some(frozen) = &state.frozen {
        let since = text::clock(frozen.since, &state.setup.zone);
        right = format!("FROZEN at {since}  {right}");
    }
    let mut parts = Vec::new();
    if let Some(broker) = &state.shown().broker {
        let id = broker
            .node_id
            .map_or_else(|| "?".to_owned(), |id| id.to_string());
        parts.push(format!("broker {id}"));
        parts.push(state.setup.host.clone());
        parts.push(format!("Kafka {}", broker.version));
        parts.push(runs(state, &broker.presence));
    } else {
        parts.push(state.setup.host.clone());
    }
    let room = area.width.saturating_sub(width(&right) + 1);
    let parts = parts.join(" · ");
    let mut left = format!(" krescue │ {parts}");
    if is_changed && width(&left) > room {
        // Whether the broker runs counts for more than a name.
        left = format!(" {parts}");
    }
    let end = put(buf, area, (0, 0), &cut(&left, room), theme.title);
    put_right(buf, area, (end, 0), &right, theme.title);
    if state.session.is_armed() {
        fill(buf, area, 0, theme.armed);
    }
}

/// Returns whether the broker runs, and how it stopped if not.
fn runs(state: &State, presence: &Presence) -> String {
    let dirs = &state.shown().logs.dirs;
    if let Some(boot) = state.shown().booting() {
        return format!("booting, {}", boot_words::phase(boot.report.phase));
    }
    match presence {
        Presence::Running { .. } => "running".to_owned(),
        Presence::Unknown { .. } => "running ?".to_owned(),
        Presence::Down => {
            let first = dirs.first().and_then(|dir| dir.stop);
            let same = dirs.iter().all(|dir| dir.stop == first);
            let stop = if same {
                words::stop(first)
            } else {
                "partly unclean"
            };
            format!("down, {stop}")
        }
    }
}

fn situation(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let situation = Situation::of(state);
    let style = theme.urgency(situation.urgency);
    let offer = if situation.offer.is_empty() {
        String::new()
    } else {
        format!("{} ", situation.offer)
    };
    let room = area.width.saturating_sub(width(&offer) + 3);
    let text = cut(&situation.text, room);
    let end = put(buf, area, (1, 0), &text, style);
    put_right(buf, area, (end + 1, 0), &offer, theme.key);
}

fn tabs(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    // All tabs and the way to the keys are to be seen on 80 columns too.
    let gap = if area.width < 90 { 1 } else { 2 };
    let mut x = 1;
    for id in PaneId::ALL {
        let style = if id == state.view.pane {
            theme.tab
        } else {
            theme.text
        };
        let tab = format!("{} {}", id.digit(), id.name());
        x = put(buf, area, (x, 0), &tab, style) + gap;
    }
    put_right(buf, area, (x, 0), "? keys ", theme.key);
    if state.session.is_armed() {
        fill(buf, area, 0, theme.armed);
    }
}

fn foot(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let keys = "/ filter  : command  x acts  q quit ";
    if let Some(notice) = &state.view.notice {
        let room = area.width.saturating_sub(1);
        put(
            buf,
            area,
            (1, 0),
            &cut(&notice.text, room),
            theme.level(notice.level),
        );
    } else {
        let room = area.width.saturating_sub(width(keys) + 2);
        let end = put(buf, area, (1, 0), &cut(&crumbs(state), room), theme.dim);
        put_right(buf, area, (end, 0), keys, theme.key);
    }
    if state.session.is_armed() {
        fill(buf, area, 0, theme.armed);
    }
}

fn crumbs(state: &State) -> String {
    let world = state.shown();
    let mut parts = vec![state.view.pane.name().to_owned()];
    if let (PaneId::Segments, Some((_, name))) = (state.view.pane, &state.view.segments.open) {
        parts.push(name.clone());
    }
    if state.view.pane == PaneId::Recovery
        && let Some(row) = state.selected_log()
    {
        let label = world.logs.dir_of(row).map_or("?", |dir| &dir.label);
        parts = vec![label.to_owned(), row.dir_name.clone()];
        let file = state
            .view
            .detail
            .as_ref()
            .and_then(|detail| detail.place(world));
        if let Some((file, _)) = file {
            let name = file.file_name().unwrap_or_default();
            parts.push(name.to_string_lossy().into_owned());
        }
    }
    parts.join(" › ")
}
