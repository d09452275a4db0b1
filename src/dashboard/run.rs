//! The loop: wait, drain, draw at most once a frame.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::app::effect::Target;
use crate::app::facts::BrokerChoice;
use crate::app::state::{Overlay, Setup, Subject};
use crate::app::{Action, Event, Level, PaneId, State, update};
use crate::cli::target::{self, Candidate};
use crate::cli::volumes_look::FailureLog;
use crate::cli::{Context, Look, Recorder, Recording};
use crate::engine::BootDirsRead;
use crate::terms::Timestamp;
use crate::tui::terminal::Screen;
use crate::tui::{Look as ScreenLook, Root};

use super::boot::BootObserver;
use super::cluster::ClusterWatch;
use super::input::{Input, spawn_input};
use super::log_view;
use super::look::{News, Purpose, look_at_presence, now};
use super::replay::{ReplayClock, spawn_replay};
use super::work::{RunningScan, WatchedJob};

/// How often scans and jobs are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked whether the broker runs.
const PRESENCE: Duration = Duration::from_secs(2);
/// The least time between two screens that no key asked for.
const FRAME: Duration = Duration::from_millis(100);
/// The same where the terminal is behind a network.
const FRAME_REMOTE: Duration = Duration::from_millis(250);

/// What the dashboard is opened with.
#[derive(Debug)]
pub struct Opening {
    /// Settings and host.
    pub context: Context,
    /// The brokers that were found; several make a chooser.
    pub candidates: Vec<Candidate>,
    /// What else was found while looking for brokers, a sentence each.
    pub notes: Vec<String>,
    /// How it looks.
    pub look: ScreenLook,
    /// Whether the terminal is behind a network, where screens are sent less often.
    pub remote: bool,
    /// What is shown.
    pub show: Show,
}

/// What is shown.
#[derive(Debug)]
pub enum Show {
    /// This host.
    Host,
    /// This host; what is seen goes to a new file too.
    AndRecord(PathBuf),
    /// A recording.
    Recording {
        /// Which.
        recording: Recording,
        /// How many times faster than it happened.
        speed: u32,
    },
}

/// Shows the dashboard until it is left; returns the id of a job that still runs.
///
/// # Errors
///
/// The terminal's.
pub fn run(opening: Opening) -> io::Result<Option<String>> {
    log_view::capture();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut screen = Screen::open()?;
        for note in &opening.notes {
            log_view::log(Target::Krescue, Level::Warn, note);
        }
        let mut opening = opening;
        let (mut dashboard, news) = Dashboard::new(&mut opening);
        dashboard.start(opening.show);
        dashboard.show(&mut screen, news).await?;
        drop(screen);
        let job = dashboard.job.take().filter(WatchedJob::runs);
        Ok(job.map(|job| job.id().to_string()))
    })
}

/// Everything that lives as long as the screen.
pub(super) struct Dashboard {
    pub(super) context: Arc<Context>,
    pub(super) candidates: Vec<Candidate>,
    /// The broker that is looked at, among the candidates.
    pub(super) chosen: usize,
    pub(super) look: Option<Arc<Look>>,
    pub(super) scan: Option<RunningScan>,
    /// How far the newest preflight is.
    pub(super) preflight: Arc<BootDirsRead>,
    pub(super) job: Option<WatchedJob>,
    /// Watches the broker while it boots.
    boot: Option<BootObserver>,
    /// The recording that is made.
    pub(super) recorder: Option<Recorder>,
    /// The clock of the recording that is shown.
    pub(super) replay: Option<ReplayClock>,
    /// Asks the living cluster, once somebody has looked at it.
    pub(super) cluster: Option<ClusterWatch>,
    /// The broker's log as far as it was read for dirs that it gave up.
    pub(super) failures: Arc<Mutex<FailureLog>>,
    pub(super) news: UnboundedSender<News>,
    /// The screen as it was drawn last.
    pub(super) drawn: Buffer,
    /// What the loop is to do next.
    pub(super) wishes: Wishes,
    pub(super) state: State,
    root: Root,
    frame: Duration,
    drawn_at: Instant,
    looked_at: Instant,
}

/// What the loop is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "wishes that do not depend on each other"
)]
pub(super) struct Wishes {
    /// Draw the screen.
    pub(super) draw: bool,
    /// Throw away input that is there.
    pub(super) drain: bool,
    /// A look for a plan is under way.
    pub(super) plan: bool,
    /// End.
    pub(super) quit: bool,
}

/// What the loop woke up for.
enum Wake {
    Input(Option<Input>),
    News(Option<News>),
    Tick,
    Frame,
    Resize,
    End,
}

impl Dashboard {
    fn new(opening: &mut Opening) -> (Self, UnboundedReceiver<News>) {
        let (news, receiver) = unbounded_channel();
        let (replay, why) = match &opening.show {
            Show::Recording { recording, speed } => {
                let first = recording
                    .facts
                    .first()
                    .map_or(recording.header.at, |fact| fact.at);
                let why = "this is a recording, which can only be looked at".to_owned();
                (Some(ReplayClock::new(first, *speed)), Some(why))
            }
            Show::Host | Show::AndRecord(_) => (None, opening.context.forbidden()),
        };
        let setup = Setup {
            subject: if replay.is_some() {
                Subject::Recording
            } else {
                Subject::Host
            },
            host: opening.context.host.clone(),
            zone: jiff::tz::TimeZone::system(),
            armed: opening.context.settings.allow_write.value && why.is_none(),
            forbidden: why,
            now: replay.as_ref().map_or_else(now, ReplayClock::now),
        };
        let dashboard = Self {
            context: Arc::new(opening.context.clone()),
            candidates: std::mem::take(&mut opening.candidates),
            chosen: 0,
            look: None,
            scan: None,
            preflight: Arc::default(),
            job: None,
            boot: None,
            recorder: None,
            replay,
            cluster: None,
            failures: Arc::default(),
            news,
            drawn: Buffer::empty(Rect::ZERO),
            wishes: Wishes::default(),
            state: State::new(setup),
            root: Root::new(opening.look.clone()),
            frame: if opening.remote { FRAME_REMOTE } else { FRAME },
            drawn_at: Instant::now(),
            looked_at: Instant::now(),
        };
        (dashboard, receiver)
    }

    fn start(&mut self, show: Show) {
        match show {
            Show::Host => {}
            Show::AndRecord(file) => self.record(Some(file), Vec::new()),
            Show::Recording { recording, .. } => return self.show_again(recording),
        }
        let choice = |candidate: &Candidate| BrokerChoice {
            label: candidate.label(),
            source: candidate.found_by.clone(),
            log_dirs: candidate.broker.log_dirs.value.clone(),
        };
        let choices = self.candidates.iter().map(choice).collect();
        self.update(Event::Found(choices));
        if !self.context.mirror.is_empty() {
            for action in [Action::ShowPane(PaneId::Mirror), Action::Refresh] {
                self.update(Event::Action { action, at: now() });
            }
        }
    }

    /// Begins to show a recording, on the pane that it is about.
    fn show_again(&mut self, recording: Recording) {
        let Some(clock) = self.replay.clone() else {
            return;
        };
        if let Some(text) = recording.left_out() {
            self.tell(Level::Warn, text);
        }
        if recording.is_of_a_cluster() {
            let (action, at) = (Action::ShowPane(PaneId::Replicas), clock.now());
            self.update(Event::Action { action, at });
        }
        spawn_replay(recording.facts, clock, &self.news);
    }

    /// Changes the state and carries out what that asks for.
    pub(super) fn update(&mut self, event: Event) {
        self.wishes.draw = true;
        self.take_down(&event);
        for effect in update(&mut self.state, event) {
            self.carry_out(effect);
        }
    }

    async fn show(
        &mut self,
        screen: &mut Screen,
        mut news: UnboundedReceiver<News>,
    ) -> io::Result<()> {
        let mut input = spawn_input()?;
        let mut signals = Signals::new()?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.draw(screen)?;
        while !self.wishes.quit {
            let due = self.drawn_at + self.frame;
            let wake = tokio::select! {
                biased;
                wake = signals.recv() => wake,
                event = input.recv() => Wake::Input(event),
                event = news.recv() => Wake::News(event),
                _ = ticks.tick() => Wake::Tick,
                () = sleep_until(due), if self.wishes.draw => Wake::Frame,
            };
            let mut now_drawn = false;
            match wake {
                Wake::End | Wake::Input(None) => self.wishes.quit = true,
                Wake::Input(Some(event)) => {
                    self.on_input(&event);
                    now_drawn = true;
                }
                Wake::News(Some(item)) => self.on_news(item),
                Wake::Resize => self.wishes.draw = true,
                Wake::News(None) | Wake::Frame => {}
                Wake::Tick => self.on_tick(),
            }
            self.drain(&mut input, &mut news);
            if self.wishes.draw && (now_drawn || Instant::now() >= due) {
                self.draw(screen)?;
            }
        }
        Ok(())
    }

    /// Takes all that is there, so that a burst makes one screen.
    fn drain(&mut self, input: &mut UnboundedReceiver<Input>, news: &mut UnboundedReceiver<News>) {
        loop {
            while let Ok(event) = input.try_recv() {
                // What was typed before a question was asked is no answer to it; what is typed once it is on screen is.
                if !(self.wishes.drain && matches!(event, Input::Key(_))) {
                    self.on_input(&event);
                }
            }
            self.wishes.drain = false;
            while let Ok(item) = news.try_recv() {
                self.on_news(item);
            }
            if !self.wishes.drain {
                break;
            }
        }
    }

    fn on_input(&mut self, input: &Input) {
        match input {
            Input::Key(key) => {
                let action = self.root.on_key(&self.state, *key);
                let at = self.now();
                self.update(Event::Action { action, at });
            }
            Input::Resized => self.wishes.draw = true,
            // A job goes on without its screen.
            Input::Gone => self.wishes.quit = true,
        }
    }

    fn on_news(&mut self, item: News) {
        match item {
            News::Event(event) => {
                // A look for a plan that failed is over.
                self.wishes.plan &= !matches!(event, Event::PlanFailed(_));
                self.update(event);
            }
            News::Looked(look) => {
                let pid = look.presence.pid();
                if self.boot.as_ref().is_none_or(|boot| !boot.watches(pid)) {
                    self.boot = BootObserver::start(&self.context, &look, &self.news);
                }
                self.look = Some(look);
                self.looked_at = Instant::now();
            }
            News::PlanNow(request) => self.plan_now(request),
            News::Presence(presence) => self.on_presence(&presence),
            News::JobRuns(id) => {
                let state_dir = self.context.settings.state_dir.as_ref();
                let opened = state_dir.map(|dir| WatchedJob::open(&dir.value, &id));
                match opened {
                    Some(Ok((job, event))) => {
                        self.job = Some(job);
                        self.update(event);
                    }
                    Some(Err(error)) => self.tell(
                        Level::Error,
                        format!("job {id} runs but cannot be watched: {}", error.sentence()),
                    ),
                    None => {}
                }
            }
        }
    }

    /// Takes whether the broker runs; a change of that changes everything else too.
    fn on_presence(&mut self, presence: &target::Presence) {
        let before = self.look.as_ref().map(|look| look.presence.clone());
        if before.as_ref() == Some(presence) {
            self.update(Event::Present(now()));
        } else if self.is_idle() {
            self.look(Purpose::Again);
        }
    }

    /// Returns the time: that of the recording, if one is shown.
    fn now(&self) -> Timestamp {
        self.replay.as_ref().map_or_else(now, ReplayClock::now)
    }

    /// Says whether no work of ours is under way, whose locks would be mistaken for a broker's.
    fn is_idle(&self) -> bool {
        let works = self.scan.is_some() || self.wishes.plan;
        !works && !self.job.as_ref().is_some_and(WatchedJob::runs)
    }

    fn on_tick(&mut self) {
        if self.looked_at.elapsed() >= PRESENCE
            && self.is_idle()
            && let Some(look) = &self.look
        {
            self.looked_at = Instant::now();
            look_at_presence(look, &self.news);
        }
        let mut events = Vec::new();
        if let Some(scan) = &self.scan {
            let finished = scan.is_finished();
            events = scan.poll();
            if finished && let Some(scan) = self.scan.take() {
                scan.finish(&self.context, &self.news);
            }
        }
        if let Some(job) = &mut self.job {
            events.extend(job.poll());
        }
        for event in events {
            self.update(event);
        }
        // The clock shows seconds: a tick within one changes nothing on screen.
        let time = self.now();
        let was_dirty = self.wishes.draw;
        let same_second = time.0 / 1000 == self.state.now.0 / 1000;
        self.update(Event::Tick(time));
        let asks =
            matches!(self.state.view.top(), Some(Overlay::Plan(plan)) if plan.prompt.is_some());
        self.wishes.draw = was_dirty || !same_second || asks;
    }

    fn draw(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.state.refresh();
        let (root, state, drawn) = (&mut self.root, &self.state, &mut self.drawn);
        screen.terminal().draw(|frame| {
            let area = frame.area();
            root.render(state, area, frame.buffer_mut());
            drawn.clone_from(frame.buffer_mut());
        })?;
        self.wishes.draw = false;
        self.drawn_at = Instant::now();
        Ok(())
    }
}

/// Signals that the loop hears; a job does not depend on the screen.
struct Signals {
    resize: Signal,
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn recv(&mut self) -> Wake {
        tokio::select! {
            _ = self.resize.recv() => Wake::Resize,
            _ = self.terminate.recv() => Wake::End,
            _ = self.hang_up.recv() => Wake::End,
            _ = self.interrupt.recv() => Wake::End,
        }
    }
}

/// A scan ends with its screen.
impl Drop for Dashboard {
    fn drop(&mut self) {
        if let Some(scan) = &self.scan {
            scan.cancel();
        }
        self.preflight.stop();
    }
}
