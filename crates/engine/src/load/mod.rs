//! Where a worker's next request comes from: a schedule, the end of the last one, or users.
//!
//! The backlog is not stored. It is the part of the schedule between what was taken and what is
//! due; a second cursor, the scout, counts it. So a backlog of a million costs no memory.

mod gaps;
pub(crate) mod share;

use std::sync::Arc;

use candor_pace::{Due, Picker, Schedule, Share};
use candor_plan::{Load, OpenLoad, Order, Plan, Request, Requests, Work};
use candor_record::Phase;

use self::gaps::Gaps;
use self::share::{WorkerPlan, limit, part};

/// The load of one worker.
pub(crate) enum Source {
    /// The next request leaves when a place is free.
    Closed(Closed),
    /// A schedule decides.
    Open(Box<Open>),
    /// As one of those, but requests go to several targets.
    Several(Box<Several>),
    /// The users, who are the authors of their steps, do it themselves.
    Users,
}

#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) think_ns: u64,
    /// Measured requests still to be sent.
    pub(crate) left: Option<u64>,
    /// Requests for which there is a row of data, those of the warm-up too; without end if rows are given out again.
    rows_left: u64,
    next_index: u64,
    step: u64,
    warm_up_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Open {
    schedule: Schedule,
    taken: u64,
    scout: Schedule,
    scouted: u64,
    gaps: Gaps,
    pub(crate) shed_after_ns: Option<u64>,
    warm_up_ns: u64,
    /// Which of the schedule's requests are its own; `None`: all.
    own: Option<Own>,
}

/// The part of a schedule that goes to one target. What goes where is a pure function of the index.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    picker: Picker,
    /// The target of what the picker picks.
    targets: Arc<[u16]>,
    target: u16,
}

/// A load whose requests go to several targets. None waits for another's place.
pub(crate) enum Several {
    /// Each connection sends the requests of its target, one after the other.
    Closed {
        /// The load.
        closed: Closed,
        /// The requests of each target.
        lists: Box<[List]>,
    },
    /// Each target has its part of the schedule.
    Open {
        /// One for each.
        parts: Box<[Open]>,
        /// Whose request leaves.
        leaving: usize,
    },
}

/// The requests of a target.
#[derive(Debug)]
pub(crate) struct List {
    /// Each by its number in the plan.
    numbers: Box<[u32]>,
    picker: Picker,
    /// How many were picked, by all workers in turn.
    next: u64,
    step: u64,
}

impl List {
    fn new(plan: &Plan, own: &WorkerPlan, target: u16) -> Self {
        let all = (0..).zip(plan.work.requests());
        let (numbers, list): (Vec<u32>, Vec<Request>) = all
            .filter(|(_, one)| one.target == u32::from(target))
            .map(|(at, one)| (at, one.clone()))
            .unzip();
        let order = match &plan.work {
            Work::Requests(requests) => requests.order,
            Work::Script { .. } | Work::Journeys(_) => Order::Rotation,
        };
        let requests = Requests { list, order, sequence: [].into() };
        List {
            picker: Picker::of_list(&requests, plan.seed),
            numbers: numbers.into(),
            next: own.share.worker.into(),
            step: own.share.workers.into(),
        }
    }

    /// The next request.
    pub(crate) fn pick(&mut self) -> u32 {
        let at = self.picker.pick(self.next);
        self.next += self.step;
        self.numbers[at]
    }
}

impl Several {
    fn new(plan: &Plan, own: &WorkerPlan) -> Self {
        let list = plan.work.requests();
        match &plan.load {
            Load::Closed { .. } => {
                let targets = 0..own.targets.len() as u16;
                let lists = targets.map(|target| List::new(plan, own, target)).collect();
                Several::Closed { closed: Closed::new(plan, own), lists }
            }
            Load::Open(load) => {
                let targets: Arc<[u16]> = list.iter().map(|one| one.target as u16).collect();
                let picker = Picker::new(&plan.work, plan.seed);
                let parts = Open::parts(load, plan, own, &picker, &targets);
                Several::Open { parts, leaving: 0 }
            }
        }
    }

    /// From a response to the next request, in a closed load.
    pub(crate) fn think_ns(&self) -> u64 {
        match self {
            Several::Closed { closed, .. } => closed.think_ns,
            Several::Open { .. } => 0,
        }
    }

    /// The request that was due left.
    #[inline(never)]
    pub(crate) fn sent(&mut self) {
        if let Several::Open { parts, leaving } = self {
            parts[*leaving].take();
        }
    }

    /// Whether there is nothing more to send.
    #[inline(never)]
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Several::Closed { closed, .. } => closed.is_exhausted(),
            Several::Open { parts, .. } => parts.iter().all(|part| part.peek().is_none()),
        }
    }
}

impl Source {
    /// Whether a place is its own clock.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Source::Closed(_) => true,
            Source::Several(several) => matches!(several.as_ref(), Several::Closed { .. }),
            Source::Open(_) | Source::Users => false,
        }
    }

    pub(crate) fn new(plan: &Plan, own: &WorkerPlan) -> Self {
        if plan.work.has_users() {
            return Source::Users;
        }
        if own.targets.len() > 1 {
            return Source::Several(Box::new(Several::new(plan, own)));
        }
        match &plan.load {
            Load::Closed { .. } => Source::Closed(Closed::new(plan, own)),
            Load::Open(load) => Source::Open(Box::new(Open::new(load, plan, own))),
        }
    }
}

impl Closed {
    /// There are so many rows, which are given out once.
    pub(crate) fn limit_rows(&mut self, rows: u64, share: Share) {
        self.rows_left = part(rows, share.worker, share.workers);
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == Some(0) || self.rows_left == 0
    }

    /// Whether no row is left for a request that would be made.
    pub(crate) fn has_used_rows(&self) -> bool {
        self.rows_left == 0 && self.left != Some(0)
    }

    pub(crate) fn new(plan: &Plan, own: &WorkerPlan) -> Self {
        let Share { worker, workers } = own.share;
        Closed {
            think_ns: match plan.load {
                Load::Closed { think_time_ns } => think_time_ns,
                Load::Open(_) => 0,
            },
            left: plan.stop.count.map(|count| part(count, worker, workers)),
            rows_left: u64::MAX,
            next_index: u64::from(worker),
            step: u64::from(workers),
            warm_up_ns: own.warm_up_ns,
        }
    }

    /// Takes the next request, which leaves at `now_ns`: its index and phase.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<(u64, Phase)> {
        let phase = phase_at(now_ns, self.warm_up_ns);
        self.rows_left = self.rows_left.checked_sub(1)?;
        if phase == Phase::Measured
            && let Some(left) = &mut self.left
        {
            *left = left.checked_sub(1)?;
        }
        let index = self.next_index;
        self.next_index += self.step;
        Some((index, phase))
    }
}

impl Open {
    pub(crate) fn new(load: &OpenLoad, plan: &Plan, own: &WorkerPlan) -> Self {
        let schedule = Schedule::new(load, plan.seed, own.share, limit(plan));
        Open {
            scout: schedule.clone(),
            schedule,
            taken: 0,
            scouted: 0,
            gaps: Gaps::new(),
            shed_after_ns: load.shed_after_ns,
            warm_up_ns: own.warm_up_ns,
            own: None,
        }
    }

    /// The parts of a schedule, one for each target of what `picker` picks.
    pub(crate) fn parts(
        load: &OpenLoad,
        plan: &Plan,
        own: &WorkerPlan,
        picker: &Picker,
        targets: &Arc<[u16]>,
    ) -> Box<[Open]> {
        let part = |target| {
            let own_part = Own { picker: picker.clone(), targets: Arc::clone(targets), target };
            let mut open = Open::new(load, plan, own);
            own_part.skip_others(&mut open.schedule);
            Open { own: Some(own_part), ..open }
        };
        (0..own.targets.len() as u16).map(part).collect()
    }

    /// The oldest request that was not taken.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Due> {
        self.schedule.peek()
    }

    /// Takes the request that [`Open::peek`] shows.
    #[inline]
    pub(crate) fn take(&mut self) {
        let taken = self.schedule.next();
        self.taken += 1;
        if let Some(own) = &self.own {
            return own.skip_others(&mut self.schedule);
        }
        if self.gaps.wants(self.taken)
            && let (Some(due), Some(following)) = (taken, self.schedule.peek())
        {
            self.gaps.keep(due.due_ns, following.due_ns);
        }
    }

    /// The sample of gaps between due times.
    pub(crate) fn take_gaps(&mut self) -> Vec<(u64, u64)> {
        self.gaps.take()
    }

    pub(crate) fn phase(&self, due: Due) -> Phase {
        phase_at(due.due_ns, self.warm_up_ns)
    }

    /// Takes the requests that are due before `t_ns`, and says how many; of very many Poisson
    /// arrivals a part.
    pub(crate) fn take_before(&mut self, t_ns: u64) -> u64 {
        if self.own.is_some() {
            let before = self.taken;
            while self.peek().is_some_and(|due| due.due_ns < t_ns) {
                self.take();
            }
            return self.taken - before;
        }
        let taken = self.schedule.skip_before(t_ns);
        self.taken += taken;
        taken
    }

    /// How many requests are due at `now_ns` and were not taken. Of very many Poisson arrivals at
    /// least so many: they are counted bit by bit, each time that this is called.
    #[inline]
    pub(crate) fn backlog(&mut self, now_ns: u64) -> u64 {
        match self.schedule.peek() {
            Some(due) if due.due_ns <= now_ns => self.count_backlog(now_ns),
            _ => 0,
        }
    }

    #[inline(never)]
    fn count_backlog(&mut self, now_ns: u64) -> u64 {
        self.scouted += match &self.own {
            None => self.scout.skip_before(now_ns.saturating_add(1)),
            Some(own) => own.count_until(&mut self.scout, now_ns),
        };
        self.scouted.saturating_sub(self.taken)
    }
}

impl Own {
    fn has(&self, due: Due) -> bool {
        self.targets[self.picker.pick(due.index)] == self.target
    }

    /// Goes on to the next of its own.
    fn skip_others(&self, schedule: &mut Schedule) {
        while schedule.peek().is_some_and(|due| !self.has(due)) {
            schedule.next();
        }
    }

    /// How many of its own are due by then, of the next so many.
    fn count_until(&self, schedule: &mut Schedule, now_ns: u64) -> u64 {
        const AT_ONCE: usize = 1 << 16;
        let mut count = 0;
        for _ in 0..AT_ONCE {
            match schedule.peek().filter(|due| due.due_ns <= now_ns) {
                Some(due) => count += u64::from(self.has(due)),
                None => break,
            }
            schedule.next();
        }
        count
    }
}

pub(crate) fn phase_at(at_ns: u64, warm_up_ns: u64) -> Phase {
    if at_ns < warm_up_ns { Phase::WarmUp } else { Phase::Measured }
}
