//! Pane 5: who is behind in the living cluster, by how much, until when, and why.
//!
//! ```text
//!  cluster · 3 brokers, 24 requests, 81 ms, 2 s ago · 1 replica not in sync, the last in ~11 s
//!  quorum: controller 1 (epoch 6), voters 1,2,3; 1 more may fail
//!  PARTITION  LEADER  ISR    REPLICA   LAG msgs  LAG bytes  RATE         IN ISR IN  NOTE▼
//! ›orders-7   2       2,1    3        1,204,331    412 MiB  +38.0 MiB/s  ~11 s      …
//!  orders-7 on broker 3 · log end 48,211,904, 2 s ago · log start 0 · 47.6 GiB in /data1
//!  takes 1 record/s, its leader appends 12: cap the writers, …
//! ```

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::replica_words::{
    self, Advice, bytes_rate, ids, in_sync_in, lag_bytes, lag_records, note,
};
use crate::app::state::{ClusterFacts, Direction, ReplicaColumn, ReplicaForecast, ReplicaScope};
use crate::app::{Action, State, live_words, text};
use crate::observe::cluster::{Quorum, ReplicaRow};
use crate::tui::canvas::{Pen, cut, put, put_right, width, wrap};
use crate::tui::keymap::{self, Binding};
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;
use crate::tui::widgets::{Align, Cell, Column, Cursor, Mark, SortableTable, TableRow};

/// Rows from which on the selected replica is told of below the table.
const ROOM_FOR_DETAIL: u16 = 14;
/// Rows of the screen from which on the quorum has a line.
const ROOM_FOR_QUORUM: u16 = 20;
/// Columns from which on there is room for all columns of the table.
const ROOM_FOR_ALL: u16 = 100;
/// Rows that this takes at most.
const DETAIL: u16 = 7;

/// The replicas pane.
#[derive(Debug, Default)]
pub struct ReplicasPane {
    table: SortableTable,
}

impl Pane for ReplicasPane {
    fn render(&mut self, state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
        let cluster = &state.shown().cluster;
        let line = |y: u16, height: u16| Rect {
            y: area.y + y,
            height: height.min(area.height.saturating_sub(y)),
            ..area
        };
        draw_title(state, theme, line(0, 1), buf);
        let Some(facts) = &cluster.facts else {
            let text = match &cluster.lost {
                Some((_, cause)) => format!("No broker answers: {cause}"),
                None => "The brokers are being asked.".to_owned(),
            };
            let room = area.width.saturating_sub(2);
            for (y, part) in (2..).zip(wrap(&text, room)) {
                put(buf, area, (1, y), &part, theme.dim);
            }
            return;
        };
        let head = 1 + draw_quorum(facts, theme, line(1, 1), buf);
        let order = state.view.replicas.order();
        let rows = u16::try_from(order.len()).unwrap_or(u16::MAX);
        let room = area.height.saturating_sub(head);
        let detail = if area.height >= ROOM_FOR_DETAIL && rows > 0 {
            DETAIL
        } else {
            0
        };
        let table = room.saturating_sub(detail).min(rows.saturating_add(2));
        if rows == 0 {
            put(buf, area, (1, head + 1), empty(state, facts), theme.dim);
            return;
        }
        self.draw_table(state, facts, theme, (line(head, table), buf));
        if detail > 0
            && let Some((_, index)) = state.view.replicas.cursor(facts)
            && let Some(row) = facts.rows.get(index)
        {
            draw_detail(
                state,
                (row, facts.forecast(row)),
                theme,
                line(head + table, room - table),
                buf,
            );
        }
    }

    fn on_key(&self, _state: &State, key: KeyEvent) -> Option<Action> {
        let page = self.table.height();
        keymap::find(&keymap::REPLICAS, key, page)
            .or_else(|| keymap::find(&keymap::MOVES, key, page))
    }

    fn bindings(&self, _state: &State) -> Vec<&'static Binding> {
        keymap::REPLICAS.iter().chain(&keymap::MOVES).collect()
    }
}

impl ReplicasPane {
    fn draw_table(
        &mut self,
        state: &State,
        facts: &ClusterFacts,
        theme: &Theme,
        (area, buf): (Rect, &mut Buffer),
    ) {
        let view = &state.view.replicas;
        let order = view.order();
        let names = facts.rows.iter().map(|row| width(&row.partition.topic) + 4);
        let name = names
            .max()
            .unwrap_or(0)
            .clamp(9, (area.width / 6).clamp(14, 48));
        let shown: Vec<ReplicaColumn> = ReplicaColumn::ALL
            .into_iter()
            .filter(|column| area.width >= ROOM_FOR_ALL || !is_spared(*column))
            .collect();
        let column = |&column: &ReplicaColumn| Column {
            title: column.title(),
            width: column_width(column, name),
            align: align(column),
            arrow: (column == view.sort).then(|| arrow(column, view.direction)),
        };
        let columns: Vec<Column> = shown.iter().map(column).collect();
        let cursor = view.cursor(facts).map(|(place, _)| place);
        let mut pen = Pen { buf, theme, area };
        self.table
            .render(&mut pen, &columns, (order.len(), cursor), |place| {
                let row = order.get(place).and_then(|index| facts.rows.get(*index));
                let here = Some(place) == cursor;
                TableRow {
                    cells: row.map_or_else(Vec::new, |row| {
                        shown
                            .iter()
                            .map(|column| cell(facts, row, *column, theme))
                            .collect()
                    }),
                    cursor: if here {
                        Cursor::Here
                    } else {
                        Cursor::Elsewhere
                    },
                    mark: Mark::None,
                }
            });
    }
}

/// Says whether a column is left out where there is not room for all.
fn is_spared(column: ReplicaColumn) -> bool {
    matches!(column, ReplicaColumn::Leader | ReplicaColumn::Rate)
}

fn column_width(column: ReplicaColumn, name: u16) -> u16 {
    match column {
        ReplicaColumn::Partition => name,
        ReplicaColumn::Leader | ReplicaColumn::Isr => 6,
        ReplicaColumn::Replica => 7,
        ReplicaColumn::LagRecords => 10,
        ReplicaColumn::LagBytes | ReplicaColumn::InSyncIn => 9,
        ReplicaColumn::Rate => 11,
        ReplicaColumn::Note => 14,
    }
}

fn align(column: ReplicaColumn) -> Align {
    match column {
        ReplicaColumn::Partition => Align::Name,
        ReplicaColumn::LagRecords | ReplicaColumn::LagBytes | ReplicaColumn::Rate => Align::Right,
        _ => Align::Left,
    }
}

fn arrow(column: ReplicaColumn, direction: Direction) -> &'static str {
    match (column.descends(), direction) {
        (false, Direction::Natural) | (true, Direction::Turned) => "▲",
        _ => "▼",
    }
}

fn cell(facts: &ClusterFacts, row: &ReplicaRow, column: ReplicaColumn, theme: &Theme) -> Cell {
    let state = if row.needs_attention() {
        theme.warn
    } else {
        theme.text
    };
    let danger = row.leader.is_none() || (row.isr.len() == 1 && row.replicas.len() > 1);
    let (text, style) = match column {
        ReplicaColumn::Partition => (row.partition.to_string(), theme.text),
        ReplicaColumn::Leader => {
            let id = row.leader.map(|id| id.to_string());
            (id.unwrap_or_else(|| "none".to_owned()), theme.text)
        }
        ReplicaColumn::Isr => (ids(&row.isr), theme.text),
        ReplicaColumn::Replica => {
            let role = if row.is_leader() { " lead" } else { "" };
            (format!("{}{role}", row.broker), theme.text)
        }
        ReplicaColumn::LagRecords => (lag_records(row), state),
        ReplicaColumn::LagBytes => (lag_bytes(row), state),
        ReplicaColumn::Rate => (bytes_rate(row), theme.text),
        ReplicaColumn::InSyncIn => (in_sync_in(row), state),
        ReplicaColumn::Note => {
            let style = if danger { theme.danger } else { state };
            (note(row, facts.forecast(row)), style)
        }
    };
    Cell { text, style }
}

/// Draws whose replicas are shown, how old that is, and what is wrong; a lost connection is told here.
fn draw_title(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let view = &state.view.replicas;
    let cluster = &state.shown().cluster;
    let badge = if view.filter.is_active() {
        format!(" FILTER /{}/ ", view.filter.text())
    } else {
        String::new()
    };
    let room = area.width.saturating_sub(width(&badge) + 2);
    let (title, style) = match (&cluster.facts, &cluster.lost) {
        (_, Some((since, _))) => {
            let old = cluster.facts.as_ref();
            let old = old.map_or_else(String::new, |facts| {
                format!(
                    "; the rows are of {}",
                    text::clock(facts.at, &state.setup.zone)
                )
            });
            let since = text::clock(*since, &state.setup.zone);
            (
                format!("NO ANSWER since {since}, asked again and again{old}"),
                theme.warn,
            )
        }
        (Some(facts), None) => (
            replica_words::title(facts, scope_word(view.scope), state.now),
            theme.title,
        ),
        (None, None) => ("replicas of the living cluster".to_owned(), theme.title),
    };
    let end = put(buf, area, (1, 0), &cut(&title, room), style);
    put_right(buf, area, (end, 0), &badge, theme.marked);
}

/// Draws who controls, how many more of the voters may fail and which features are on, where there is room; returns the rows that takes.
fn draw_quorum(facts: &ClusterFacts, theme: &Theme, area: Rect, buf: &mut Buffer) -> u16 {
    let line = replica_words::cluster_line(facts);
    let Some(line) = line.filter(|_| buf.area.height >= ROOM_FOR_QUORUM) else {
        return 0;
    };
    let may_fail = facts.quorum.as_ref().and_then(Quorum::may_fail);
    let style = match may_fail {
        Some(0) => theme.danger,
        _ => theme.dim,
    };
    let room = area.width.saturating_sub(2);
    put(buf, area, (1, 0), &cut(&line, room), style);
    1
}

fn scope_word(scope: ReplicaScope) -> &'static str {
    match scope {
        ReplicaScope::Cluster => "cluster",
        ReplicaScope::Following => "this host as follower",
        ReplicaScope::Leading => "this host as leader",
    }
}

fn empty(state: &State, facts: &ClusterFacts) -> &'static str {
    let view = &state.view.replicas;
    match view.scope {
        _ if view.filter.is_active() => "The filter hides all replicas: Esc drops it.",
        ReplicaScope::Cluster => "The cluster has no topic.",
        _ if facts.node_id.is_none() => {
            "No broker of this host is known: v shows the whole cluster."
        }
        ReplicaScope::Following => "This host's broker follows no partition: v shows it as leader.",
        ReplicaScope::Leading => "This host's broker leads no partition that has followers.",
    }
}

fn draw_detail(
    state: &State,
    (row, forecast): (&ReplicaRow, Option<&ReplicaForecast>),
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let room = area.width.saturating_sub(2);
    let head = replica_words::sentence(row, state.now);
    put(buf, area, (1, 1), &cut(&head, room), theme.title);
    let kept = state.world.in_force.iter();
    let kept = kept.filter(|kept| kept.topic() == Some(&row.partition.topic));
    let kept = kept.map(|kept| {
        (
            live_words::reminder(&kept.plan, kept.since, state.now),
            Advice::Next,
        )
    });
    let freeing = state.shown().freeing.iter();
    let freeing = freeing.filter(|freeing| freeing.is_of(&row.partition.topic));
    let freeing =
        freeing.map(|freeing| (live_words::freed_so_far(freeing, state.now), Advice::Says));
    let advice = freeing
        .chain(kept)
        .chain(replica_words::advice(row, forecast));
    let mut y = 2;
    for (told, kind) in advice {
        let style = match kind {
            Advice::Says => theme.text,
            Advice::Next => theme.key,
        };
        for part in wrap(&told, room) {
            if y >= area.height {
                return;
            }
            put(buf, area, (1, y), &part, style);
            y += 1;
        }
    }
}
