//! A bar that is as long as what is done.

use crate::tui::canvas::Pen;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Draws `done` of `total` over `width` columns from `x` on; full only when all is done.
///
/// ```text
/// ██████████████▍░░░░░░░░░
/// ```
pub fn bar(pen: &mut Pen<'_>, (x, y, width): (u16, u16, u16), (done, total): (u64, u64)) {
    let eighths = if total == 0 {
        0
    } else {
        u128::from(done.min(total)) * u128::from(width) * 8 / u128::from(total)
    };
    let full = usize::try_from(eighths / 8).unwrap_or(0);
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    let part = EIGHTHS.get(part).copied().unwrap_or_default();
    let rest = usize::from(width)
        .saturating_sub(full)
        .saturating_sub(usize::from(!part.is_empty()));
    let x = pen.put((x, y), &"█".repeat(full), pen.theme.bar);
    let x = pen.put((x, y), part, pen.theme.bar);
    pen.put((x, y), &"░".repeat(rest), pen.theme.bar_rest);
}
