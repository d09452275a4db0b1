//! Whether this session may change anything, and whether it is about to.

use crate::terms::Timestamp;

/// Milliseconds without a key after which an armed session looks again.
pub const ARMED_IDLE_MS: i64 = 10 * 60 * 1000;

/// Whether acts are open at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing can be changed.
    Looking,
    /// A confirmed plan will be carried out.
    Armed {
        /// When a key was last pressed.
        last_key: Timestamp,
    },
}

/// The session's right to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    mode: Mode,
    forbidden: Option<String>,
}

impl Session {
    /// Returns a session that looks; `forbidden` says why it may never act, if so.
    pub fn new(forbidden: Option<String>) -> Self {
        Self {
            mode: Mode::Looking,
            forbidden,
        }
    }

    /// Returns the mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Says whether a confirmed plan would be carried out.
    pub fn is_armed(&self) -> bool {
        matches!(self.mode, Mode::Armed { .. })
    }

    /// Returns why this session may never act, if so.
    pub fn forbidden(&self) -> Option<&str> {
        self.forbidden.as_deref()
    }

    /// Arms the session, or says why it may not be armed.
    pub fn arm(&mut self, now: Timestamp) -> Result<(), String> {
        if let Some(why) = &self.forbidden {
            return Err(format!("this session cannot be armed: {why}"));
        }
        self.mode = Mode::Armed { last_key: now };
        Ok(())
    }

    /// Goes back to looking.
    pub fn disarm(&mut self) {
        self.mode = Mode::Looking;
    }

    /// Forbids acting for the rest of the session; there is no way back.
    pub fn forbid(&mut self, why: impl Into<String>) {
        self.disarm();
        self.forbidden.get_or_insert_with(|| why.into());
    }

    /// Notes that a key was pressed.
    pub fn on_key(&mut self, now: Timestamp) {
        if let Mode::Armed { last_key } = &mut self.mode {
            *last_key = now;
        }
    }

    /// Ends an idle ARMED; says whether it did.
    pub fn on_tick(&mut self, now: Timestamp) -> bool {
        match self.mode {
            Mode::Armed { last_key } if now.0.saturating_sub(last_key.0) >= ARMED_IDLE_MS => {
                self.disarm();
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn armed_ends_after_ten_minutes_without_a_key() {
        let mut session = Session::new(None);
        session.arm(Timestamp(0)).unwrap();
        assert!(!session.on_tick(Timestamp(ARMED_IDLE_MS - 1)));
        session.on_key(Timestamp(ARMED_IDLE_MS - 1));
        assert!(!session.on_tick(Timestamp(ARMED_IDLE_MS)));
        assert!(session.on_tick(Timestamp(2 * ARMED_IDLE_MS)));
        assert_eq!(session.mode(), Mode::Looking);
    }

    #[test]
    fn a_forbidden_session_is_never_armed() {
        let mut session = Session::new(Some("--read-only".to_owned()));
        assert!(session.arm(Timestamp(0)).is_err());
        let mut session = Session::new(None);
        session.arm(Timestamp(0)).unwrap();
        session.forbid("asked for on screen");
        assert!(!session.is_armed());
        assert!(session.arm(Timestamp(1)).is_err());
    }
}
