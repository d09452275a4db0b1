//! Whether the state dir has room: on a full disk it may lie on the very volume that is to be freed.

use std::path::Path;

use crate::disk::VolumeSpace;

/// What a plan with its journal may take at the least, in bytes.
const ROOM: u64 = 1 << 20;

/// Says whether the volume of the state dir, or of the place where it will be made, has room for a plan; true where nothing
/// tells.
pub(crate) fn has_room(state_dir: &Path) -> bool {
    let absolute = std::path::absolute(state_dir).unwrap_or_else(|_| state_dir.to_owned());
    let place = absolute.ancestors().find(|place| place.exists());
    let space = place.and_then(|place| VolumeSpace::of(place).ok());
    space.is_none_or(|space| space.free >= ROOM)
}
