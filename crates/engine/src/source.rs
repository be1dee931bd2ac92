//! Where a worker's next request comes from: a schedule, the end of the last one, or users.
//!
//! The backlog is not stored. It is the part of the schedule between what was taken and what is
//! due; a second cursor, the scout, counts it. So a backlog of a million costs no memory.

use candor_pace::{Due, Schedule, Share};
use candor_plan::{Load, OpenLoad, Plan};
use candor_record::Phase;

use crate::gaps::Gaps;
use crate::plan_share::{WorkerPlan, limit, part};

/// The load of one worker.
pub(crate) enum Source {
    /// The next request leaves when a place is free.
    Closed(Closed),
    /// A schedule decides.
    Open(Box<Open>),
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
}

impl Source {
    pub(crate) fn new(plan: &Plan, own: &WorkerPlan) -> Self {
        if !plan.journeys.is_empty() {
            return Source::Users;
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
        }
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
        let taken = self.schedule.skip_before(t_ns);
        self.taken += taken;
        taken
    }

    /// How many requests are due at `now_ns` and were not taken. Of very many Poisson arrivals at
    /// least so many: they are counted bit by bit, each time that this is called.
    pub(crate) fn backlog(&mut self, now_ns: u64) -> u64 {
        if self.schedule.peek().is_none_or(|due| due.due_ns > now_ns) {
            return 0;
        }
        self.scouted += self.scout.skip_before(now_ns.saturating_add(1));
        self.scouted.saturating_sub(self.taken)
    }
}

pub(crate) fn phase_at(at_ns: u64, warm_up_ns: u64) -> Phase {
    if at_ns < warm_up_ns { Phase::WarmUp } else { Phase::Measured }
}
