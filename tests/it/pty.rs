//! The real program in a pseudo-terminal, driven by keys and read as a person reads it.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::apply::contents;
use crate::support::fixture::Tree;
use crate::support::jobs::{BegunJob, halt_job};
use crate::support::program::run;
use crate::support::watch::Watch;
use nix::sys::signal::Signal;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// The longest that anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a fresh question hears nothing, and some.
const DEAF: Duration = Duration::from_millis(700);

struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Terminal {
    fn open(mut command: CommandBuilder, (cols, rows): (u16, u16)) -> Self {
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env_remove("NO_COLOR");
        command.env_remove("SSH_CONNECTION");
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(len) = reader.read(&mut bytes) {
                if len == 0 || sender.send(bytes[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            master: pair.master,
            keys,
            child,
            output,
            screen: vt100::Parser::new(some(rows), some(cols), 0),
        }
    }

    fn krescue(words: &[&str], temp: &Path, size: (u16, u16)) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_krescue"));
        command.args(words);
        command.env("TMPDIR", temp);
        command.env("HOME", temp);
        Self::open(command, size)
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads until the screen fits, and returns it.
    fn wait_for(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if fits(&text) {
                return text;
            }
            assert!(Instant::now() < end, "no {what} on screen:\n{text}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(50)) {
                self.screen.process(&bytes);
            }
        }
    }

    fn see(&mut self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        self.master
            .resize(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        self.screen.screen_mut().set_size(some(rows), some(cols));
    }

    /// Waits for the end and returns whether it was a success; the terminal must have been given back.
    fn end(mut self) -> bool {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.text());
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
                self.screen.process(&bytes);
            }
        };
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
            self.screen.process(&bytes);
        }
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown again");
        status.success()
    }
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// Answers the question on screen with what it asks for.
fn confirm(terminal: &mut Terminal) {
    terminal.type_keys(":arm\r");
    terminal.see("ARMED");
    terminal.type_keys("a");
    let screen = terminal.wait_for("question", |screen| {
        screen.contains("Carry it out?") || screen.contains("and Enter to go on")
    });
    std::thread::sleep(DEAF);
    if screen.contains("Carry it out?") {
        terminal.type_keys("y");
        return;
    }
    let line = screen
        .lines()
        .find(|line| line.contains("and Enter to go on"));
    let phrase = line.unwrap().split_once("Type").unwrap().1;
    let phrase = phrase.split_once("and Enter").unwrap().0.trim().to_owned();
    terminal.type_keys(&format!("{phrase}\r"));
}

#[test]
fn a_person_recovers_the_demo_and_sees_a_clean_boot() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::krescue(&["demo"], temp.path(), (120, 32));
    terminal.see("down, unclean: a boot reads");
    // Look first: nothing was read, and the demo is a real broker's tree.
    terminal.type_keys("2");
    terminal.see("not read");
    terminal.type_keys(":recover\r");
    terminal.see("class B");
    terminal.see("payments-1 on data1: ASK");
    terminal.see("DO NOT START");
    // A session that looks changes nothing.
    terminal.type_keys("a");
    terminal.see("type :arm first");
    confirm(&mut terminal);
    terminal.see("done, but 1 log stays as it was");
    // What is left is looked at anew by itself.
    terminal.see("nothing to do");
    terminal.see("DO NOT START");
    // The decision: Kafka's way, in a plan of its own.
    terminal.type_keys(":payments-1\r");
    terminal.see("CRC mismatch");
    terminal.see("BYTES of");
    terminal.type_keys("x");
    terminal.see("class C");
    terminal.type_keys("f");
    terminal.see("class C: good data is lost");
    terminal.see("205 records");
    confirm(&mut terminal);
    terminal.see("done: each log reached its planned end");
    terminal.see("and changes nothing");
    // The hand-over that lets a boot read nothing.
    terminal.type_keys(":hand-over clean\r");
    terminal.see("an empty clean marker");
    confirm(&mut terminal);
    terminal.see("down, clean: a boot loads 20 logs in 2 log dirs and reads no batch again");
    terminal.type_keys("7");
    terminal.see("each log reached its planned end");
    // Who did it, too: the audit of the state dir.
    terminal.see("hand-over clean");
    terminal.type_keys("q");
    assert!(terminal.end());
    let left: Vec<_> = std::fs::read_dir(temp.path()).unwrap().collect();
    assert!(left.is_empty(), "the demo leaves nothing behind: {left:?}");
}

/// The screen in the README is what a person sees who does as it says, clock and host aside.
#[test]
fn the_readme_shows_the_demo_as_it_is() {
    let readme = include_str!("../../README.md");
    let (_, block) = readme.split_once("```text\n").unwrap();
    let (block, after) = block.split_once("\n```\n").unwrap();
    assert!(
        after
            .trim_start()
            .starts_with("(`krescue demo`, one log in detail, at 80x24.)")
    );
    let want: Vec<&str> = block.lines().map(str::trim_end).collect();
    assert_eq!(want.len(), 24);
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::krescue(&["demo"], temp.path(), (80, 24));
    terminal.see("a boot reads");
    terminal.type_keys(":scan\r");
    terminal.see("DO NOT START");
    terminal.type_keys(":payments-1\r");
    let screen = terminal.see("BYTES of");
    let seen: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let told = |line: &str| {
        let (before, after) = line.split_once(" · ").unwrap();
        let (_, after) = after.split_once(" · ").unwrap();
        let (after, _clock) = after.rsplit_once(' ').unwrap();
        let words: Vec<&str> = after.split_whitespace().collect();
        format!("{before} {}", words.join(" "))
    };
    assert_eq!(told(seen[0]), told(want[0]));
    assert_eq!(seen[1..], want[1..], "{screen}");
    terminal.type_keys("q");
    assert!(terminal.end());
}

#[test]
fn a_person_takes_a_recovery_back() {
    let tree = Tree::t4();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(100_000));
    let dir = tree.path("d1");
    let before = contents(&dir);
    let (dir, state) = (dir.to_str().unwrap(), tree.path("state"));
    let words = ["--kafka-version", "4.4.0", "--log-dirs", dir, "--state-dir"];
    let words = [&words[..], &[state.to_str().unwrap()]].concat();
    let mut terminal = Terminal::krescue(&words, &tree.path("."), (120, 32));
    terminal.see("down, unclean: a boot reads");
    terminal.type_keys(":recover\r");
    terminal.see("class B");
    confirm(&mut terminal);
    terminal.see("done: each log reached its planned end");
    terminal.see("and changes nothing");
    assert_ne!(contents(&tree.path("d1")), before);
    terminal.type_keys(":undo\r");
    terminal.see("the newest first");
    terminal.type_keys("\r");
    terminal.see("takes back");
    confirm(&mut terminal);
    terminal.wait_for("a torn log again", |_| contents(&tree.path("d1")) == before);
    terminal.see("not carried out");
    terminal.type_keys("q");
    assert!(terminal.end());
}

#[test]
fn a_read_only_dashboard_plans_and_opens_nothing_for_writing() {
    let tree = Tree::t4_unflushed();
    tree.edit(&tree.t0(3000, "log"), |bytes| bytes.truncate(1000));
    let dir = tree.path("d1");
    let watch = Watch::over(&dir);
    let state = tree.path("state");
    let words = ["--read-only", "--state-dir", state.to_str().unwrap()];
    let words = [&words[..], &["--log-dirs", dir.to_str().unwrap()]].concat();
    let mut terminal = Terminal::krescue(&words, &tree.path("."), (120, 32));
    terminal.see("down, unclean: a boot reads");
    terminal.type_keys(":recover\r");
    terminal.see("class B");
    terminal.type_keys(":arm\r");
    terminal.see("this session is read-only");
    terminal.type_keys(":q\r");
    assert!(terminal.end());
    assert_eq!(watch.changes(), Vec::<String>::new());
}

#[test]
fn what_a_boot_meets_and_what_no_boot_sees_is_found_from_the_screen() {
    let tree = Tree::t4();
    std::fs::create_dir(tree.path("d1/lost+found")).unwrap();
    // Below the recovery point, where no boot looks.
    tree.edit(&tree.t0(0, "log"), |bytes| bytes[100] ^= 1);
    let dir = tree.path("d1");
    let watch = Watch::over(&dir);
    let state = tree.path("state");
    let words = ["--read-only", "--state-dir", state.to_str().unwrap()];
    let words = [&words[..], &["--log-dirs", dir.to_str().unwrap()]].concat();
    let mut terminal = Terminal::krescue(&words, &tree.path("."), (120, 32));
    terminal.see("down");
    terminal.type_keys(":preflight\r");
    terminal.see("preflight: DO NOT START: 1 problem ends");
    terminal.type_keys(":verify\r");
    terminal.see("1 with findings, in their rows");
    terminal.see("CRC");
    terminal.type_keys("q");
    assert!(terminal.end());
    assert_eq!(watch.changes(), Vec::<String>::new());
}

/// A large demo that is damaged, with the words that open it; a job over it can be halted in time.
fn large_demo(temp: &Path) -> (Vec<String>, PathBuf) {
    let tree = temp.join("tree");
    std::fs::create_dir(&tree).unwrap();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let spec = krescue::demo::LargeSpec {
        size: 16 << 20,
        cancel: &cancel,
    };
    let demo = krescue::demo::write_large(&tree, spec, &mut |_, _| {}).unwrap();
    let state = temp.join("state");
    let words = vec![
        "--config".to_owned(),
        demo.config.display().to_string(),
        "--kafka-version".to_owned(),
        demo.kafka_version.to_string(),
        "--state-dir".to_owned(),
        state.display().to_string(),
    ];
    (words, state)
}

/// Opens the dashboard and starts a recovery, whose job is halted where it is.
fn halted(temp: &Path) -> (Vec<String>, PathBuf, Terminal, BegunJob) {
    let (words, state) = large_demo(temp);
    let mut terminal = Terminal::krescue(&as_str(&words), temp, (120, 32));
    terminal.see("down, unclean: a boot reads");
    terminal.type_keys(":recover\r");
    terminal.see("a carry out");
    confirm(&mut terminal);
    let job = halt_job(&state);
    terminal.see("JOB 20");
    (words, state, terminal, job)
}

fn as_str(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn leave_it_running(mut terminal: Terminal) {
    terminal.type_keys("q");
    terminal.see("leave it running and quit");
    terminal.type_keys("l");
    assert!(terminal.end());
}

#[test]
fn a_job_outlives_the_screen_and_is_shown_again() {
    let temp = tempfile::tempdir().unwrap();
    let (words, _, terminal, job) = halted(temp.path());
    leave_it_running(terminal);
    // Another krescue finds it, with its lock held, and shows it to its end.
    let mut terminal = Terminal::krescue(&as_str(&words), temp.path(), (120, 32));
    terminal.see("JOB 20");
    terminal.see("down, unclean");
    job.signal(Signal::SIGCONT);
    terminal.see("done, but 5 logs stay as they were");
    // The plan that shows what is left ends the scan after the job.
    terminal.see("nothing to do");
    terminal.see("DO NOT START");
    terminal.type_keys("q");
    assert!(terminal.end());
}

#[test]
fn a_killed_job_is_the_situation_until_something_newer_is_known() {
    let temp = tempfile::tempdir().unwrap();
    let (words, _, terminal, job) = halted(temp.path());
    leave_it_running(terminal);
    job.signal(Signal::SIGKILL);
    let mut terminal = Terminal::krescue(&as_str(&words), temp.path(), (120, 32));
    let screen = terminal.see("a job was killed");
    let second = screen.lines().nth(1).unwrap();
    assert!(
        second.contains("DO NOT START before a rerun: a job was killed; :undo "),
        "{screen}"
    );
    assert!(second.contains(":recover"), "{screen}");
    terminal.type_keys(":recover\r");
    terminal.see("a carry out");
    terminal.wait_for("a situation of the new plan", |screen| {
        !screen.contains("a job was killed")
    });
    confirm(&mut terminal);
    terminal.see("done, but 5 logs stay as they were");
    terminal.see("nothing to do");
    terminal.see("DO NOT START: ");
    terminal.type_keys("q");
    assert!(terminal.end());
}

/// A line that breaks hangs up the screen; the job is no part of its session.
#[test]
fn a_job_goes_on_to_its_end_when_the_terminal_is_lost() {
    let temp = tempfile::tempdir().unwrap();
    let (words, _, terminal, job) = halted(temp.path());
    let Terminal {
        master,
        keys,
        mut child,
        output,
        ..
    } = terminal;
    drop((master, keys, output));
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "the screen outlives its terminal");
        std::thread::sleep(Duration::from_millis(1));
    }
    let jobs = || {
        let jobs = [&as_str(&words)[..], &["jobs", "--json"]].concat();
        run(temp.path(), &jobs).exits(0).kind("job").remove(0)
    };
    assert_eq!(jobs()["state"], "running");
    job.signal(Signal::SIGCONT);
    let mut last = jobs();
    while last["state"] == "running" {
        assert!(Instant::now() < end, "{last}");
        last = jobs();
    }
    assert_eq!(last["state"], "done_but_left", "{last}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for signal in [nix::sys::signal::SIGTERM, nix::sys::signal::SIGHUP] {
        let temp = tempfile::tempdir().unwrap();
        let mut terminal = Terminal::krescue(&["demo"], temp.path(), (80, 24));
        terminal.see("a boot reads");
        assert!(terminal.screen.screen().alternate_screen());
        let pid = i32::try_from(terminal.child.process_id().unwrap()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
        terminal.end();
    }
}

#[test]
fn any_size_will_do() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::krescue(&["demo"], temp.path(), (1, 1));
    for size in [
        (80, 24),
        (3, 40),
        (200, 2),
        (1, 1),
        (39, 9),
        (200, 50),
        (40, 10),
    ] {
        terminal.resize(size.0, size.1);
        std::thread::sleep(Duration::from_millis(60));
        terminal.type_keys("2");
        terminal.type_keys("?");
        std::thread::sleep(Duration::from_millis(60));
        terminal.type_keys("\x1b");
        std::thread::sleep(Duration::from_millis(60));
    }
    terminal.resize(80, 24);
    terminal.see("recovery");
    terminal.type_keys("\x03");
    assert!(terminal.end());
}

/// A change of size and a key that come together are both taken: the key waits for no further one.
#[test]
fn a_key_typed_while_the_size_changes_is_not_lost() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::krescue(&["demo"], temp.path(), (80, 24));
    terminal.see("a boot reads");
    for round in 0..100 {
        terminal.resize(80 + round % 2, 24);
        terminal.type_keys("?");
        terminal.see("type to search");
        terminal.resize(82 + round % 2, 24);
        terminal.type_keys("\x1b");
        // The last line is drawn last: a screen that is just cleared has none, and a key after that would make the Esc an Alt.
        terminal.wait_for("closed help", |screen| {
            screen.contains("q quit") && !screen.contains("type to search")
        });
    }
    terminal.type_keys("q");
    assert!(terminal.end());
}

#[test]
fn ascii_and_no_colour_reach_the_screen() {
    let temp = tempfile::tempdir().unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_krescue"));
    command.args(["demo", "--ascii"]);
    command.env("TMPDIR", temp.path());
    command.env("HOME", temp.path());
    let mut terminal = Terminal::open(command, (80, 24));
    terminal.see("a boot reads");
    assert!(terminal.text().is_ascii(), "{}", terminal.text());
    terminal.type_keys("q");
    assert!(terminal.end());
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "pty::child_that_panics",
        "--ignored",
        "--nocapture",
    ]);
    let mut terminal = Terminal::open(command, (80, 24));
    terminal.see("the screen is taken");
    let end = Instant::now() + PATIENCE;
    while terminal.screen.screen().alternate_screen() && Instant::now() < end {
        if let Ok(bytes) = terminal.output.recv_timeout(Duration::from_millis(50)) {
            terminal.screen.process(&bytes);
        }
    }
    terminal.see("a defect in the middle of a frame");
    assert!(!terminal.end());
}

#[test]
fn a_lost_terminal_ends_the_screen() {
    let temp = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "pty::child_that_is_lost",
            "--ignored",
            "--nocapture",
        ])
        .env("KRESCUE_TEST_TEMP", temp.path())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
    let pid = std::fs::read_to_string(temp.path().join("pid")).unwrap();
    let end = Instant::now() + PATIENCE;
    while Path::new("/proc").join(&pid).exists() {
        assert!(
            Instant::now() < end,
            "process {pid} goes on without a terminal"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs as the child of the test above: its end closes the terminal that krescue has.
#[test]
#[ignore = "started by a_lost_terminal_ends_the_screen"]
fn child_that_is_lost() {
    let temp = PathBuf::from(std::env::var_os("KRESCUE_TEST_TEMP").unwrap());
    let mut terminal = Terminal::krescue(&["demo"], &temp, (80, 24));
    terminal.see("a boot reads");
    let pid = terminal.child.process_id().unwrap();
    std::fs::write(temp.join("pid"), pid.to_string()).unwrap();
    std::process::exit(7);
}

/// Runs as the child of the test before.
#[test]
#[ignore = "started by a_panic_gives_the_terminal_back"]
fn child_that_panics() {
    let mut screen = krescue::tui::terminal::Screen::open().unwrap();
    screen
        .terminal()
        .draw(|frame| frame.render_widget("the screen is taken", frame.area()))
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    panic!("a defect in the middle of a frame");
}
