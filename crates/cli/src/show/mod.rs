//! The progress display of a command: a live view on a terminal, lines of progress elsewhere, or
//! nothing. Every command has the same one.
//!
//! The working thread sends [`Event`]s over a bounded channel and never waits: an event without
//! room is dropped, and a later one has its content. A thread of the lowest priority turns them
//! into a [`State`] ([`state`]), and that into pictures ([`view`]) or lines ([`lines`]). This
//! module judges and measures nothing, and the view leaves no trace.

mod lines;
mod paint;
pub(crate) mod state;
mod view;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use candor_engine::monotonic_ns;
use candor_lab::{Ahead, Interrupt};
use candor_plan::{Plan, ProgressForm, Tui};
use candor_record::{RunRecord, Stretch};
use candor_report::Facts;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use rustix::process::{
    Signal, getpgrp, getpid, kill_process, kill_process_group, setpriority_process,
};
use rustix::thread::gettid;

use crate::ascii;
use crate::console::{self, terminal};
use crate::exit::UserError;
use lines::Pace;
use state::{Course, Done, Event, Head, Seen, SoFar, State};
use view::{Theme, view};

/// The most waiting events.
const EVENTS: usize = 256;
/// The shortest time between two pictures, and the longest until a key is handled.
const TICK: Duration = Duration::from_millis(100);
/// The time between two pictures without news, to update the clock.
const IDLE: Duration = Duration::from_millis(500);
/// A command that ends before this shows nothing.
const DELAY: Duration = Duration::from_millis(300);
/// The longest wait for the thread at the end. It has little left to do but may not get a core.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time after which it tries again to take a terminal that another process had.
const AGAIN: Duration = Duration::from_secs(1);
/// The lowest priority.
const NICEST: i32 = 19;

/// The requested kind of display.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) quiet: bool,
    pub(crate) tui: Tui,
    pub(crate) progress: ProgressForm,
    /// Whether other output goes to the standard output meanwhile.
    pub(crate) shares_stdout: bool,
}

impl Asked {
    /// The display that the options ask for.
    pub(crate) fn of(outputs: &candor_plan::Outputs) -> Self {
        let candor_plan::Outputs { quiet, tui, progress, .. } = *outputs;
        Asked { quiet, tui, progress, shares_stdout: false }
    }

    /// Whether there is a view.
    fn has_view(&self) -> Result<bool, UserError> {
        let is_possible = terminal::is_possible();
        match self.tui {
            Tui::On if !self.quiet && !is_possible => Err(UserError::usage(
                "--tui on: the standard error is not a terminal, or this runs in its \
                 background; leave it out, or use --progress line",
            )),
            Tui::On => Ok(true),
            Tui::Auto => Ok(is_possible && !(self.shares_stdout && console::stdout_is_terminal())),
            Tui::Off => Ok(false),
        }
    }
}

/// A message to the thread.
enum Message {
    Event(Event),
    /// The record of the run so far.
    Record(Box<RunRecord>),
    End,
}

/// The link to the thread; without one, nothing is shown.
#[derive(Clone, Default)]
pub(crate) struct Show(Option<Arc<Link>>);

struct Link {
    out: SyncSender<Message>,
    is_over: Arc<AtomicBool>,
    ended: Mutex<Receiver<()>>,
    has_view: bool,
}

impl Show {
    /// Starts the display. `title` describes the command; `interrupt` stops the current run.
    /// Records of a run are judged with the facts in `judged`.
    pub(crate) fn start(
        asked: Asked,
        title: &str,
        interrupt: Option<Arc<Interrupt>>,
        judged: Option<(Plan, Facts)>,
    ) -> Result<Show, UserError> {
        let has_view = asked.has_view()?;
        if asked.quiet || (!has_view && asked.progress == ProgressForm::Off) {
            return Ok(Show::default());
        }
        let (out, inbox) = sync_channel(EVENTS);
        let (end, ended) = sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let shower = Shower {
            inbox,
            is_over: Arc::clone(&is_over),
            state: State::of(title),
            begun: Instant::now(),
            interrupt,
            judged,
            origin_ns: 0,
            cores: Cores::default(),
            form: asked.progress,
        };
        let thread = thread::Builder::new().name("show".to_owned()).spawn(move || {
            // The display must cost the run nothing. If the priority cannot be lowered, it stays.
            let _ = setpriority_process(Some(gettid()), NICEST);
            if has_view {
                shower.view()
            } else {
                shower.lines()
            }
            let _ = end.send(());
        });
        thread
            .map_err(|error| UserError::could_not_run(format!("cannot start a thread: {error}")))?;
        let ended = Mutex::new(ended);
        Ok(Show(Some(Arc::new(Link { out, is_over, ended, has_view }))))
    }

    /// Whether the display uses records of the run so far.
    pub(crate) fn wants_records(&self) -> bool {
        self.0.as_ref().is_some_and(|link| link.has_view)
    }

    fn tell(&self, message: Message) {
        if let Some(link) = &self.0 {
            let _ = link.out.try_send(message);
        }
    }

    /// A run of `plan` begins.
    pub(crate) fn prepares(&self, plan: &Plan) {
        if self.0.is_some() {
            self.tell(Message::Event(Event::Run(Box::new(Head::of(plan)))));
        }
    }

    /// An interval is over.
    pub(crate) fn stretch(&self, stretch: &Stretch<'_>) {
        if self.0.is_some() {
            self.tell(Message::Event(Event::Interval(Box::new(Seen::of(stretch)))));
        }
    }

    /// The record so far.
    pub(crate) fn record(&self, record: RunRecord) {
        self.tell(Message::Record(Box::new(record)));
    }

    /// A step begins; `left` is the time of all remaining steps, if known.
    pub(crate) fn begins(&self, what: &str, ahead: Ahead, left: Option<Duration>) {
        let left_ns = left.map(|left| u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        self.tell(Message::Event(Event::Begins { what: what.to_owned(), ahead, left_ns }));
    }

    /// A step is over.
    pub(crate) fn done(&self, what: &str, outcome: &str, is_failure: bool) {
        let (what, outcome) = (what.to_owned(), outcome.to_owned());
        self.tell(Message::Event(Event::Done { what, outcome, is_failure }));
    }

    /// A remark that stays visible.
    pub(crate) fn note(&self, line: &str) {
        if self.0.is_some() {
            console::say(format_args!("candor: {line}"));
            self.notice(line);
        }
    }

    /// A passing remark.
    pub(crate) fn notice(&self, line: &str) {
        self.tell(Message::Event(Event::Note(line.to_owned())));
    }

    /// Ends the display, for all of its users.
    pub(crate) fn end(&mut self) {
        if let Some(link) = self.0.take() {
            link.end();
        }
    }
}

impl Link {
    fn end(&self) {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        let _ = self.out.try_send(Message::End);
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(PATIENCE);
        terminal::leave();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

/// The display thread.
struct Shower {
    inbox: Receiver<Message>,
    is_over: Arc<AtomicBool>,
    state: State,
    begun: Instant,
    interrupt: Option<Arc<Interrupt>>,
    judged: Option<(Plan, Facts)>,
    /// The origin of the current run on the system's monotonic clock.
    origin_ns: u64,
    cores: Cores,
    form: ProgressForm,
}

/// A terminal with a picture.
struct Screen {
    keyboard: terminal::Keyboard,
    picture: Buffer,
    /// Bytes that the terminal has not accepted yet.
    pending: Vec<u8>,
    drawn: Option<Instant>,
}

impl Shower {
    /// Shows pictures until the end.
    fn view(mut self) {
        let theme =
            Theme { has_colours: console::has_colours(), has_unicode: !ascii::is_asked_for() };
        let mut screen: Option<Screen> = None;
        let mut ask_at = self.begun + DELAY;
        let mut frozen: Option<State> = None;
        loop {
            let (is_new, is_over) = self.take_in();
            if is_over {
                terminal::leave();
                return;
            }
            let Some(shown) = &mut screen else {
                if Instant::now() >= ask_at {
                    match terminal::take() {
                        Ok(keyboard) => screen = Some(Screen::new(keyboard)),
                        Err(_) if ask_at == self.begun + DELAY => return self.lines(),
                        Err(_) => ask_at = Instant::now() + AGAIN,
                    }
                }
                thread::sleep(TICK);
                continue;
            };
            let mut is_pressed = false;
            for key in shown.keyboard.keys(TICK) {
                is_pressed = true;
                match key {
                    // Like the first, second and third signal.
                    b'q' => drop(kill_process(getpid(), Signal::INT)),
                    b'p' if frozen.is_some() => frozen = None,
                    b'p' => frozen = Some(State { is_frozen: true, ..self.state.clone() }),
                    b'?' => self.state.explains = !self.state.explains,
                    CTRL_L => shown.forget(),
                    CTRL_Z => {
                        terminal::leave();
                        let _ = kill_process_group(getpgrp(), Signal::TSTP);
                        // The process stops a moment later; the view returns when it continues.
                        ask_at = Instant::now() + DELAY;
                        screen = None;
                        break;
                    }
                    // The following bytes belong to the sequence: an arrow, a function key.
                    ESCAPE => break,
                    _ => {}
                }
            }
            let Some(shown) = &mut screen else { continue };
            self.look();
            let picture = match &mut frozen {
                Some(state) => {
                    state.explains = self.state.explains;
                    state
                }
                None => &mut self.state,
            };
            if !shown.show(picture, theme, is_new || is_pressed) {
                return;
            }
        }
    }

    /// Prints lines until the end.
    fn lines(mut self) {
        let mut pace = Pace::new();
        let mut is_over = false;
        while !is_over {
            let wait = match self.inbox.recv_timeout(IDLE / 2) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            is_over = matches!(wait, Some(Message::End)) || (wait.is_none() && self.is_over());
            self.look();
            let has_interval = matches!(wait, Some(Message::Event(Event::Interval(_))));
            let is_done = matches!(wait, Some(Message::Event(Event::Done { .. })));
            self.apply(wait);
            let mut line = None;
            if is_done {
                pace.told_at(self.state.now.elapsed_ns);
                let last = self.state.steps.as_ref().and_then(|steps| steps.done.back());
                line = last.and_then(|last: &Done| lines::done(&self.state, last, self.form));
            } else if !is_over
                && (!has_interval || lines::is_telling(&self.state))
                && pace.is_due(&self.state, has_interval)
            {
                line = lines::progress(&self.state, self.form);
            }
            if let Some(line) = line {
                console::lines(&line);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Handles pending events; returns whether there were any, and whether the work is over.
    fn take_in(&mut self) -> (bool, bool) {
        let mut is_new = false;
        loop {
            match self.inbox.try_recv() {
                Ok(Message::End) | Err(TryRecvError::Disconnected) => return (is_new, true),
                Ok(message) => {
                    is_new = true;
                    self.look();
                    self.apply(Some(message));
                }
                Err(TryRecvError::Empty) => return (is_new, self.is_over()),
            }
        }
    }

    fn apply(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Event(event)) => {
                if matches!(event, Event::Run(_)) {
                    self.origin_ns = 0;
                }
                self.state.apply(event);
            }
            Some(Message::Record(record)) => {
                let Some((plan, facts)) = &self.judged else { return };
                let so_far = SoFar::of(facts, plan, *record);
                self.state.apply(Event::SoFar(Box::new(so_far)));
            }
            Some(Message::End) | None => {}
        }
    }

    /// Reads the clocks.
    fn look(&mut self) {
        let now = &mut self.state.now;
        now.elapsed_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(share) = self.cores.look() {
            now.busiest = Some(share);
        }
        let Some(interrupt) = &self.interrupt else { return };
        now.is_ending = interrupt.is_asked();
        let Some(run) = interrupt.run() else { return };
        now.worst_hiccup_ns = run.worst_hiccup_ns();
        let since = |origin_ns: u64| monotonic_ns().saturating_sub(origin_ns);
        now.course = match run.course() {
            candor_engine::Course::Before => Course::Connecting,
            candor_engine::Course::Sending { origin_monotonic_ns } => {
                self.origin_ns = origin_monotonic_ns;
                Course::Sending { elapsed_ns: since(origin_monotonic_ns) }
            }
            candor_engine::Course::SentAll if self.origin_ns == 0 => Course::Connecting,
            candor_engine::Course::SentAll => {
                Course::Draining { elapsed_ns: since(self.origin_ns) }
            }
        };
    }
}

const CTRL_L: u8 = 0x0c;
const CTRL_Z: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;

impl Screen {
    fn new(keyboard: terminal::Keyboard) -> Self {
        Screen { keyboard, picture: Buffer::default(), pending: Vec::new(), drawn: None }
    }

    /// Treats the content of the terminal as unknown.
    fn forget(&mut self) {
        self.picture = Buffer::default();
    }

    /// Draws a picture if there is news and the terminal has accepted the last one; returns whether
    /// the terminal is still ours.
    fn show(&mut self, state: &State, theme: Theme, is_new: bool) -> bool {
        let (columns, rows) = self.keyboard.size();
        let area = Rect::new(0, 0, columns, rows);
        let since = self.drawn.map(|at| at.elapsed());
        let is_due = match since {
            None => true,
            Some(since) => {
                since >= IDLE || (since >= TICK && (is_new || area != self.picture.area))
            }
        };
        if self.pending.is_empty() && is_due {
            let mut next = Buffer::empty(area);
            view(state, theme, area, &mut next);
            let mut bytes = String::new();
            if self.picture.area != area {
                bytes.push_str(paint::CLEAR);
                self.picture = Buffer::empty(area);
            }
            bytes += &paint::changes(&self.picture, &next);
            self.picture = next;
            self.pending = bytes.into_bytes();
            self.drawn = Some(Instant::now());
        }
        match terminal::write(&self.pending) {
            Some(taken) => drop(self.pending.drain(..taken)),
            None => return false,
        }
        true
    }
}

/// CPU time of this process' threads.
#[derive(Default)]
struct Cores {
    looked: Option<Instant>,
    by_thread: BTreeMap<String, u64>,
}

impl Cores {
    /// The share of a core that the busiest thread used since the last reading, once a second.
    fn look(&mut self) -> Option<f64> {
        const EVERY: Duration = Duration::from_secs(1);
        let since = self.looked.map(|at| at.elapsed());
        if since.is_some_and(|since| since < EVERY) {
            return None;
        }
        let mut now = BTreeMap::new();
        for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
            // The first number is the time on a core (the kernel's sched-stats.rst).
            let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let ns = text.split_ascii_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
            now.insert(thread.file_name().to_string_lossy().into_owned(), ns.unwrap_or(0));
        }
        // A thread that was not there before used all of its time since.
        let used = |(thread, ns): (&String, &u64)| {
            ns.saturating_sub(self.by_thread.get(thread).copied().unwrap_or(0))
        };
        let most = now.iter().map(used).max();
        self.by_thread = now;
        self.looked = Some(Instant::now());
        Some(most? as f64 / since?.as_nanos().max(1) as f64)
    }
}
