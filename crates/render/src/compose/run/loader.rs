//! The participants of a run: target, loader, plan.

use candor_plan::units::{
    fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share,
};
use candor_plan::{HttpVersion, Order, Work, describe};

use super::super::{or_nothing, trials, words};
use crate::page::{Block, Column, Section, Table};
use candor_report::Tone;
use candor_report::document::Document;
use candor_report::document::target::{ResourceSample, Resources};

/// The most requests of a plan to show.
const MOST: usize = 50;

/// The resources of a managed target, how it ended, if it did, and its profiler.
pub(super) fn target(section: &mut Section, document: &Document) {
    if let Some(resources) = &document.target {
        section.fact("Target", None, used(resources));
        section.fact("Target", None, most(resources));
        let cores = trials::who_had(&resources.cores, &resources.loader_cores);
        section.fact("Target", Some(Tone::Faint), cores.unwrap_or_default());
        if let Some(ended) = &resources.ended {
            section.standing(
                Tone::Bad,
                "ENDED",
                format!("The target ended {ended}; its log ends:"),
            );
            section.blocks.push(Block::Code(resources.log_tail.clone()));
        }
        section.full(|section| {
            section.facts(resources.name.clone().map(|name| ("Name", name)));
            section.facts([("Command", resources.command.join(" "))]);
            section.facts(resources.cpu_s.map(|cpu_s| ("CPU time", format!("{cpu_s:.2} s"))));
        });
    }
    section.facts(words::profile(document).into_iter().map(|part| ("Profile", part)));
    if let Some(last) = document.target.as_ref().and_then(|one| one.stats.last()) {
        section.details("The target's own figures at the end", |details| {
            let json = serde_json::to_string_pretty(&last.json).unwrap_or_default();
            details.blocks.push(Block::Code(json.lines().map(str::to_owned).collect()));
        });
    }
}

/// Its resources, in a line.
pub(super) fn used(target: &Resources) -> String {
    let mut parts = vec![match (target.cpu_share_mean, target.cpu_share_max) {
        (Some(mean), Some(max)) => {
            format!("CPU {} of a core (at most {})", fmt_share(mean), fmt_share(max))
        }
        (Some(mean), None) => format!("CPU {} of a core", fmt_share(mean)),
        _ => "the run was too short to sample it".to_owned(),
    }];
    let memory = target.rss_peak_bytes;
    parts.extend(memory.map(|bytes| format!("memory at most {}", fmt_bytes(bytes))));
    let rate = target.requests_per_cpu_s;
    parts.extend(rate.map(|per_s| format!("{} of its CPU time", fmt_per_second(per_s))));
    parts.join(", ")
}

/// The maxima; empty without samples.
fn most(target: &Resources) -> String {
    let Some(last) = target.samples.last() else { return String::new() };
    let highest = |figure: fn(&ResourceSample) -> u64| {
        fmt_count(target.samples.iter().map(figure).max().unwrap_or(0))
    };
    format!(
        "at most {} processes, {} threads, {} open files; {} voluntary and {} involuntary context \
         switches",
        highest(|one| one.processes),
        highest(|one| one.threads),
        highest(|one| one.open_files),
        fmt_count(last.voluntary_switches),
        fmt_count(last.involuntary_switches)
    )
}

/// The health of the loader.
pub(super) fn loader(section: &mut Section, document: &Document) {
    section.facts(words::loader(document).into_iter().map(|part| ("Trust", part)));
    section.facts(document.trace.as_ref().map(|trace| ("Trace", words::trace(trace))));
    for host in words::hosts(document) {
        section.fact("Host", Some(Tone::Faint), host);
    }
    let names =
        ["thread", "core", "CPU", "in the kernel", "waited for a core", "preempted", "waits"];
    let mut table = Table::new(names.map(Column::figures));
    for (n, worker) in document.workers.iter().enumerate() {
        let cpu_ns = worker.cpu_user_ns.saturating_add(worker.cpu_system_ns);
        let system = worker.cpu_system_ns as f64 / cpu_ns.max(1) as f64;
        table.row([
            (n + 1).to_string(),
            or_nothing(worker.core, |core| core.to_string()),
            or_nothing(worker.cpu_share, fmt_share),
            fmt_share(system),
            or_nothing(worker.waited_ns, fmt_duration_ns),
            fmt_plural(worker.involuntary_switches, "time"),
            fmt_count(worker.waits),
        ]);
    }
    section.full(|section| section.table(table));
}

/// The plan, and the command to rerun it.
pub(super) fn plan(section: &mut Section, document: &Document) {
    (section.anchor, section.heading) = ("plan", "Plan");
    section.full(|section| asked(section, document));
    words::again(section, &document.arguments);
}

fn spoken(http: HttpVersion) -> &'static str {
    match http {
        HttpVersion::H1 => "HTTP/1.1",
        HttpVersion::H2 => "HTTP/2",
        HttpVersion::Upgrade => "HTTP/2 after an upgrade from HTTP/1.1",
        HttpVersion::H3 => "HTTP/3",
        HttpVersion::Negotiated => "chosen by the server (ALPN)",
    }
}

fn asked(section: &mut Section, document: &Document) {
    let plan = &document.plan;
    section.facts([
        ("URL", plan.target.url.clone()),
        ("Endpoint", format!("{}, Host: {}", plan.target.endpoint, plan.target.authority)),
        ("Spoken", spoken(plan.target.http).to_owned()),
        ("Load", describe::load(plan)),
    ]);
    section.facts(plan.others.iter().map(|one| {
        let spoken = spoken(one.http);
        ("Target", format!("{}: {}, {}, {spoken}", one.name, one.url, one.endpoint))
    }));
    section.facts(plan.target.tls.as_ref().map(|tls| {
        let from = format!("{} to {}", tls.min, tls.max);
        ("TLS", format!("{from}, server name {}, trust {}", tls.server_name, tls.trust))
    }));
    if plan.work.requests().len() > 1 {
        let order = match &plan.work {
            Work::Requests(requests) if requests.order == Order::Weighted => "at random by weight",
            Work::Requests(_) | Work::Script { .. } => "one after the other",
            Work::Journeys(_) => "step by step, as users make them",
        };
        section.fact("Order", None, order);
    }
    let mut columns: Vec<_> =
        ["request", "method", "path", "header fields", "body", "right"].map(Column::words).into();
    columns[4] = Column::figures("body");
    let mut table = Table::new(columns);
    for one in plan.work.requests().iter().take(MOST) {
        let headers = one.headers.iter();
        let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
        let hash = one.body.hash().map_or(String::new(), |hash| format!(" #{hash}"));
        table.row([
            one.name.clone(),
            one.method.clone(),
            one.path.clone(),
            headers.join(" · "),
            fmt_bytes(one.body.count()) + &hash,
            format!("{}; body {}", one.expect.status, one.expect.body),
        ]);
    }
    section.table(table);
    if plan.work.requests().len() > MOST {
        section
            .remark(format!("and {} more", fmt_count((plan.work.requests().len() - MOST) as u64)));
    }
}
