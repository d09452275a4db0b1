//! Retention: verdicts against what brokers deleted, and the files that they are judged by.

mod golden;
