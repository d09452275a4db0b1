//! Parts of panes.

mod bar;
mod boot_threads;
mod dir_rows;
mod list_box;
mod log_table;
mod sortable_table;

pub use bar::bar;
pub use boot_threads::{boot_threads, boot_threads_height};
pub use dir_rows::{dir_rows, dir_rows_height};
pub use list_box::{ListBox, Long, Place};
pub use log_table::log_table;
pub use sortable_table::{Align, Cell, Column, Cursor, Mark, SortableTable, TableRow};
