//! Makes the demo's data anew.
