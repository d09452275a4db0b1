//! What lies over the panes and takes the keys.

use std::sync::Arc;

use tui_input::Input;

use crate::app::act::ActItem;
use crate::app::confirm::Phrase;
use crate::app::facts::KeptFacts;
use crate::app::plan_text::PlanLine;
use crate::terms::Timestamp;

use super::free_space::FreeDialog;
use super::live::LiveDialog;
use super::table::Filter;

/// Milliseconds for which a fresh prompt takes no key: what was typed ahead was not meant for it.
pub const PROMPT_DEAF_MS: i64 = 500;

/// The line behind `:`.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// What was typed.
    pub input: Input,
    /// What could be meant.
    pub candidates: Vec<String>,
    /// Which of them was taken.
    pub picked: Option<usize>,
    /// What is wrong with what was typed.
    pub error: Option<String>,
}

/// What must be typed before a plan is carried out.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// What it wants.
    pub phrase: Phrase,
    /// What was typed.
    pub input: Input,
    /// When it was opened.
    pub opened: Timestamp,
    /// Whether what was typed was wrong.
    pub wrong: bool,
}

impl Prompt {
    /// Returns an empty prompt.
    pub fn new(phrase: Phrase, opened: Timestamp) -> Self {
        Self {
            phrase,
            input: Input::default(),
            opened,
            wrong: false,
        }
    }

    /// Says whether a key at `at` was typed ahead.
    pub fn is_deaf(&self, at: Timestamp) -> bool {
        at.0.saturating_sub(self.opened.0) < PROMPT_DEAF_MS
    }
}

/// The plan, and whether it is to be carried out.
#[derive(Debug, Clone)]
pub struct PlanDialog {
    /// The hash of the plan that is shown: no other can be confirmed here.
    pub hash: String,
    /// Its lines.
    pub lines: Arc<[PlanLine]>,
    /// The first line shown.
    pub scroll: usize,
    /// The question, once it was asked for.
    pub prompt: Option<Prompt>,
    /// Why it is not asked.
    pub refused: Option<String>,
}

/// What lies over the panes.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// The brokers that were found.
    Chooser {
        /// The one under the cursor.
        cursor: usize,
    },
    /// The keys of the pane.
    Help {
        /// What they are searched for.
        input: Input,
        /// The first line shown.
        scroll: usize,
    },
    /// The command line.
    Command(CommandLine),
    /// The filter's line.
    Filter {
        /// What was typed.
        input: Input,
        /// What held before.
        before: Filter,
    },
    /// The menu of acts.
    Acts {
        /// Its lines.
        items: Vec<ActItem>,
        /// The one under the cursor.
        cursor: usize,
        /// Why the chosen one was refused.
        refused: Option<String>,
    },
    /// The plans that were carried out, to be taken back.
    Kept {
        /// They, the newest first.
        items: Vec<KeptFacts>,
        /// The one under the cursor.
        cursor: usize,
        /// Why the chosen one cannot be.
        refused: Option<String>,
    },
    /// The newest plan.
    Plan(PlanDialog),
    /// What can go to free space.
    FreeSpace(FreeDialog),
    /// A plan for the living cluster.
    Live(LiveDialog),
    /// Limits that are tried, on the pane itself.
    WhatIf,
    /// How to end while something runs.
    Quit,
    /// Lines to read.
    Lines {
        /// What they are.
        title: String,
        /// Them.
        lines: Vec<String>,
        /// The first line shown.
        scroll: usize,
    },
}
