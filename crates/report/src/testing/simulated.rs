//! A simulated run: record's own recorder and collector are told of its requests, one by one.

use candor_plan::{Load, Parts, Plan};
use candor_record::{
    Arrived, Collector, CollectorSettings, ConnectErrorKind, Disconnect, EndReason, ErrorKind,
    FailedRequest, Hiccup, Hiccups, LossKind, Machine, Memory, Pauses, Phase, Recorder,
    RecorderSettings, RunRecord, Sample, StepFailure, StreamEnd, StreamParts, Stretch,
    WorkerHealth, WorkerReport, Workers,
};

use super::{MS, WORKERS, facts, host};
use crate::document::Document;

/// The outcome of one simulated request.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    Ok { service_ns: u64 },
    Failed { kind: ErrorKind, status: Option<u16>, after_ns: u64 },
    Unfinished,
    Unsent,
    Shed { after_ns: u64 },
}

/// One simulated request.
#[derive(Debug, Clone, Copy)]
pub struct Simulated {
    pub due_ns: u64,
    pub queue_wait_ns: u64,
    pub send_lag_ns: u64,
    pub request: u32,
    pub outcome: Outcome,
}

/// A simulated run: plan, requests and how it ends.
#[derive(Debug, Clone)]
pub struct Run {
    pub plan: Parts,
    pub requests: Vec<Simulated>,
    pub end: EndReason,
    /// Backlog at the end of each interval, for worker 0.
    pub backlog: Vec<u64>,
    pub connect_errors: Vec<ConnectErrorKind>,
    /// Connections lost for good in the middle of the run.
    pub lost: u32,
    /// When the loader's machine paused.
    pub pauses: Pauses,
    pub cpu_share: f64,
}

impl Run {
    pub fn document(&self) -> Document {
        Document::new(&facts(), &self.checked(), &self.record())
    }

    pub fn checked(&self) -> Plan {
        self.plan.clone().try_into().expect("a plan")
    }

    fn window_end_ns(&self) -> u64 {
        self.plan.recording.warm_up_ns + self.plan.stop.duration_ns.unwrap_or(0)
    }

    pub fn record(&self) -> RunRecord {
        self.watch(&mut |_| {})
    }

    /// The record, and each interval for `watch` before that.
    pub fn watch(&self, watch: &mut dyn FnMut(&Stretch<'_>)) -> RunRecord {
        let plan = &self.plan;
        let digits = plan.recording.digits;
        let mut collector = Collector::new(CollectorSettings {
            digits,
            requests: plan.work.requests().len(),
            journeys: plan.work.journeys().len(),
            warm_up_ns: plan.recording.warm_up_ns,
            connections_asked: plan.connections.count.into(),
            workers: Workers::all(WORKERS as u32),
        });
        for worker in 0..WORKERS {
            let mut recorder = Recorder::new(RecorderSettings {
                digits,
                interval_ns: plan.recording.interval_ns,
                warm_up_ns: plan.recording.warm_up_ns,
                window_end_ns: Some(self.window_end_ns()),
                drain_ns: plan.stop.drain_ns,
                requests: plan.work.requests().len(),
                journeys: plan.work.journeys().len(),
            });
            self.drive(worker, &mut recorder);
            while let Some(interval) = recorder.take_finished() {
                if let Some(used) = collector.deliver(worker, interval) {
                    recorder.recycle(used);
                }
            }
            let wall_ns = self.window_end_ns() + 50 * MS;
            let cpu_ns = (wall_ns as f64 * self.cpu_share) as u64;
            let health = WorkerHealth {
                core: Some(worker as u64),
                wall_ns,
                cpu_user_ns: cpu_ns / 4,
                cpu_system_ns: cpu_ns - cpu_ns / 4,
                waited_ns: Some(wall_ns / 100),
                involuntary_switches: 7,
                waits: 1000,
                spun_ns: 0,
                batches: None,
            };
            let report = WorkerReport::new(self.window_end_ns(), self.end);
            collector.worker_ended(worker, WorkerReport { health, ..report });
        }
        let machine = Machine {
            host: host(),
            hiccups: Some(self.hiccups()),
            memory: Some(Memory {
                connected_bytes: 11_000_000,
                per_connection_bytes: 1_400,
                peak_bytes: 13_000_000,
            }),
            ..Machine::default()
        };
        collector.settle_with(watch);
        let mut record = collector.finish(machine, Default::default());
        let connections = u64::from(plan.connections.count).max(1);
        let answered = record.answered_in_window;
        record.workers[0].answers = (0..connections)
            .map(|one| answered / connections + u64::from(one < answered % connections))
            .collect();
        if matches!(self.plan.load, Load::Open(_)) {
            let due: Vec<u64> = self.requests.iter().map(|one| one.due_ns).collect();
            let gaps = due.windows(WORKERS + 1).step_by(25).map(|w| (w[0], w[WORKERS]));
            record.workers[0].gaps = gaps.collect();
        }
        record
    }

    /// A machine with little jitter: wake-ups 60 µs late, sometimes a millisecond.
    fn hiccups(&self) -> Hiccups {
        let mut hiccups = Hiccups::new();
        for i in 0..3000u64 {
            hiccups.late.record(if i % 1000 == 999 { 1_200_000 } else { 60_000 });
        }
        hiccups.keep(Hiccup { at_ns: 1999 * MS, late_ns: 1_200_000, waited_ns: MS, stolen_ns: 0 });
        hiccups.wall_ns = self.window_end_ns();
        hiccups.cpu_ns = self.window_end_ns() / 300;
        hiccups
    }

    /// Replays one worker's share in order of time.
    fn drive(&self, worker: usize, recorder: &mut Recorder) {
        let end_ns = self.window_end_ns() + 50 * MS;
        let mut events: Vec<(u64, Event)> = Vec::new();
        let connected = if self.end == EndReason::GaveUp { 0 } else { self.plan.connections.count };
        for index in 0..connected {
            if index as usize % WORKERS == worker {
                events.push((u64::from(index) * 1000, Event::Connect));
                if index < self.lost {
                    events.push((end_ns / 2, Event::Lose));
                }
            }
        }
        if worker == 0 {
            events.extend(self.connect_errors.iter().map(|&kind| (0, Event::NoConnect(kind))));
            for (index, &backlog) in self.backlog.iter().enumerate() {
                let at_ns = self.plan.recording.warm_up_ns
                    + (index as u64 + 1) * self.plan.recording.interval_ns;
                events.push((at_ns - 1, Event::Backlog(backlog)));
            }
        }
        for one in self.requests.iter().skip(worker).step_by(WORKERS) {
            let sent_ns = one.due_ns + one.queue_wait_ns + one.send_lag_ns;
            let ends_ns = match one.outcome {
                Outcome::Ok { service_ns } => sent_ns + service_ns,
                Outcome::Failed { after_ns, .. } => sent_ns + after_ns,
                Outcome::Shed { after_ns } => one.due_ns + after_ns,
                Outcome::Unfinished | Outcome::Unsent => end_ns,
            };
            if !matches!(one.outcome, Outcome::Unsent | Outcome::Shed { .. }) {
                events.push((sent_ns, Event::Sent(*one)));
            }
            events.push((ends_ns, Event::Ended(*one)));
        }
        events.sort_by_key(|(at_ns, _)| *at_ns);
        let has_streams = self.plan.work.requests().iter().any(candor_plan::Request::has_parts);
        for (at_ns, event) in events {
            if let Event::Ended(one) = &event
                && has_streams
                && one.due_ns >= self.plan.recording.warm_up_ns
            {
                stream(recorder, at_ns);
            }
            // Of 2,000 a second every tenth is not good.
            let good = match &event {
                Event::Ended(one) => {
                    self.plan.recording.goodput.is_some()
                        && one.due_ns >= self.plan.recording.warm_up_ns
                        && !(one.due_ns * 2 / MS).is_multiple_of(10)
                }
                _ => false,
            };
            self.apply(recorder, at_ns, event);
            if good {
                recorder.good(at_ns);
            }
        }
        if self.plan.work.has_users() && worker == 0 {
            users(recorder, end_ns);
        }
        recorder.judge(&self.pauses, u64::MAX);
        recorder.finish(end_ns, 0);
    }

    fn apply(&self, recorder: &mut Recorder, now_ns: u64, event: Event) {
        let phase = |due_ns: u64| {
            if due_ns < self.plan.recording.warm_up_ns { Phase::WarmUp } else { Phase::Measured }
        };
        match event {
            Event::Connect => recorder.connected(now_ns, 80_000),
            Event::Lose => {
                let reset = || "Connection reset by peer".to_owned();
                recorder.disconnected(now_ns, Disconnect::Lost(LossKind::Reset), reset);
            }
            Event::NoConnect(kind) => {
                recorder.connect_failed(now_ns, kind, || "127.0.0.1:8080 said no".to_owned());
            }
            Event::Backlog(backlog) => {
                recorder.advance(now_ns);
                recorder.set_backlog(backlog);
            }
            Event::Sent(one) => {
                recorder.sent(now_ns, phase(one.due_ns), one.request);
                recorder.bytes_sent(50);
            }
            Event::Ended(one) => end_request(recorder, now_ns, phase(one.due_ns), one),
        }
    }
}

/// Four events, of which the middle two came in one read.
fn stream(recorder: &mut Recorder, now_ns: u64) {
    let mut came = |events: Arrived| {
        let parts = StreamParts { events, first_byte_ns: MS, tokens: Some(events) };
        recorder.stream_parts(now_ns, parts);
    };
    let gap_ns = Some(5 * MS);
    came(Arrived { first_ns: Some(2 * MS), ..Arrived::default() });
    came(Arrived { gap_ns, coalesced: 1, ..Arrived::default() });
    came(Arrived { gap_ns, ..Arrived::default() });
    recorder.stream_ended(
        now_ns,
        StreamEnd {
            parts: 4,
            first_part_ns: Some(2 * MS),
            last_part_ns: Some(12 * MS),
            longest_gap_ns: Some(5 * MS),
            first_token_ns: Some(2 * MS),
            longest_token_gap_ns: Some(5 * MS),
            tokens_span_ns: 10 * MS,
            tokens: Some(4),
            input_tokens: Some(3),
        },
    );
}

/// 1,000 users: 970 complete, 20 have no token, 6 are refused, and 4 are under way at the end.
fn users(recorder: &mut Recorder, end_ns: u64) {
    for user in 0..1000u64 {
        recorder.user_started(end_ns, 0);
        match user % 100 {
            0..=96 => recorder.user_completed(end_ns, 0, (40 + user % 20) * MS, 30 * MS),
            97 | 98 => recorder.step_failed(end_ns, 0, (0, StepFailure::Capture(0)), true),
            _ if user < 600 => {
                recorder.step_failed(end_ns, 0, (1, StepFailure::Error(ErrorKind::Status)), true);
            }
            _ => recorder.user_unfinished(end_ns, 0),
        }
    }
    recorder.step_failed(end_ns, 0, (1, StepFailure::Unset(0)), false);
}

fn end_request(recorder: &mut Recorder, now_ns: u64, phase: Phase, one: Simulated) {
    let age_ns = now_ns - one.due_ns;
    match one.outcome {
        Outcome::Ok { service_ns } => {
            recorder.bytes_received(150);
            recorder.ok(&Sample {
                due_ns: one.due_ns,
                ready_ns: one.due_ns + one.queue_wait_ns,
                sent_ns: one.due_ns + one.queue_wait_ns + one.send_lag_ns,
                first_byte_ns: now_ns - service_ns / 10,
                done_ns: now_ns,
                request: one.request,
                status: 200,
                body_bytes: 12,
                phase,
            });
        }
        Outcome::Failed { kind, status, .. } => {
            let failure = FailedRequest { phase, request: one.request, kind, status, age_ns };
            recorder.error(now_ns, failure, || format!("GET /hello: {}", kind.sentence()));
        }
        Outcome::Unfinished => recorder.unfinished(now_ns, phase, age_ns),
        Outcome::Unsent => recorder.unsent(now_ns, phase, age_ns),
        Outcome::Shed { .. } => recorder.shed(now_ns, phase),
    }
}

enum Event {
    Connect,
    Lose,
    NoConnect(ConnectErrorKind),
    Backlog(u64),
    Sent(Simulated),
    Ended(Simulated),
}
