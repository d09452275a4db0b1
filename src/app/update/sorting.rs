//! The order of the tables.

use crate::app::action::{Action, PaneId};
use crate::app::state::{State, VolumeSort};

/// Sorts the table of the pane in front.
pub(super) fn on_action(state: &mut State, action: &Action) {
    let pane = state.view.pane;
    let (table, replicas, volumes, mirror) = (
        &mut state.view.table,
        &mut state.view.replicas,
        &mut state.view.volumes,
        &mut state.view.mirror,
    );
    match (action, pane) {
        (Action::SortBeside(step), PaneId::Volumes) => volumes.sort_beside(*step),
        (Action::SortBeside(step), PaneId::Mirror) => mirror.sort_beside(*step),
        (Action::SortBeside(step), PaneId::Replicas) => replicas.sort_beside(*step),
        (Action::SortBeside(step), _) => table.sort = table.sort.beside(*step),
        (Action::SortBy { column, direction }, _) => {
            (table.sort, table.direction) = (*column, *direction);
        }
        (Action::SortReplicas { column, direction }, _) => {
            (replicas.sort, replicas.direction) = (*column, *direction);
        }
        (&Action::SortVolumes { column, direction }, _) => {
            *volumes.sort_mut() = VolumeSort { column, direction };
        }
        (&Action::SortMirror(sort), _) => mirror.sort_by(sort),
        (Action::NextScope, _) => replicas.scope = replicas.scope.next(),
        (Action::TurnOrder, PaneId::Volumes) => {
            let sort = volumes.sort_mut();
            sort.direction = sort.direction.turned();
        }
        (Action::TurnOrder, PaneId::Mirror) => mirror.turn(),
        (Action::TurnOrder, PaneId::Replicas) => replicas.direction = replicas.direction.turned(),
        (Action::TurnOrder, _) => table.direction = table.direction.turned(),
        _ => {}
    }
    table.touch();
    replicas.touch();
    volumes.touch();
}
