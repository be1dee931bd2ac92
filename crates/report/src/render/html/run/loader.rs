//! Who took part in a run, and what was asked of them: target, loader, plan.

use candor_plan::units::{fmt_bytes, fmt_count, fmt_duration_ns, fmt_plural, fmt_share};
use candor_plan::{HttpVersion, Order, describe};

use super::super::super::words::{self, NOTHING};
use super::super::page::{Column, Section, Table, Tone};
use crate::document::Document;

/// What a managed target used, and how it ended.
pub(super) fn target(section: &mut Section, document: &Document) {
    let Some(resources) = &document.target else { return };
    if let Some(ended) = &resources.ended {
        section.standing(Tone::Bad, "ENDED", &format!("The target ended {ended}."));
        if !resources.log_tail.is_empty() {
            section.text("The last lines of its log:");
            section.code(&resources.log_tail);
        }
    }
    let cores = |cores: &[u64]| cores.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let mut facts = Vec::new();
    facts.extend(resources.name.clone().map(|name| ("Name", name)));
    if !resources.command.is_empty() {
        facts.push(("Command", resources.command.join(" ")));
    }
    if !resources.cores.is_empty() {
        let loader = cores(&resources.loader_cores);
        facts.push(("Cores", format!("{} (loader: {loader})", cores(&resources.cores))));
    }
    if let (Some(mean), Some(max)) = (resources.cpu_share_mean, resources.cpu_share_max) {
        let (mean, max) = (fmt_share(mean), fmt_share(max));
        facts.push(("CPU", format!("{mean} of a core, at most {max}")));
    }
    facts.extend(resources.cpu_s.map(|cpu_s| ("CPU time", format!("{cpu_s:.2} s"))));
    facts.extend(
        resources
            .requests_per_cpu_s
            .map(|per_s| ("Answers", format!("{} a CPU second", fmt_count(per_s.max(0.0) as u64)))),
    );
    facts.extend(resources.rss_peak_bytes.map(|bytes| ("Memory, peak", fmt_bytes(bytes))));
    if let Some(last) = resources.samples.last() {
        let switches = format!(
            "{} waited, {} lost its core",
            fmt_count(last.voluntary_switches),
            fmt_count(last.involuntary_switches)
        );
        facts.push(("Switches", switches));
    }
    facts.extend(words::profile(document).into_iter().map(|part| ("Profile", part)));
    section.facts(&facts);
    if let Some(last) = resources.stats.last() {
        section.details("What the target says of itself, at the end", |details| {
            let json = serde_json::to_string_pretty(&last.json).unwrap_or_default();
            details.code(&json.lines().map(str::to_owned).collect::<Vec<_>>());
        });
    }
}

/// How the loader fared.
pub(super) fn loader(section: &mut Section, document: &Document) {
    for part in words::loader(document) {
        section.text(&part);
    }
    let mut table = Table::new(
        ["thread", "core", "CPU", "in the kernel", "waited for a core", "core taken away", "waits"]
            .map(Column::figures),
    );
    for (n, worker) in document.workers.iter().enumerate() {
        let cpu_ns = worker.cpu_user_ns.saturating_add(worker.cpu_system_ns);
        let system = worker.cpu_system_ns as f64 / cpu_ns.max(1) as f64;
        table.row([
            (n + 1).to_string(),
            worker.core.map_or(NOTHING.to_owned(), |core| core.to_string()),
            worker.cpu_share.map_or(NOTHING.to_owned(), fmt_share),
            fmt_share(system),
            worker.waited_ns.map_or(NOTHING.to_owned(), fmt_duration_ns),
            fmt_plural(worker.involuntary_switches, "time"),
            fmt_count(worker.waits),
        ]);
    }
    if !table.rows.is_empty() {
        section.table(&table);
    }
    let mut facts = Vec::new();
    facts.extend(words::hosts(document).into_iter().map(|host| ("Machine", host)));
    facts.extend(words::memory(document).map(|memory| ("Memory", memory)));
    facts.extend(document.trace.as_ref().map(|trace| ("Trace", words::trace(trace))));
    section.facts(&facts);
}

/// The plan, and the command that carries it out again.
pub(super) fn plan(section: &mut Section, document: &Document) {
    let plan = &document.plan;
    let http = match plan.target.http {
        HttpVersion::H1 => "HTTP/1.1",
        HttpVersion::H2 => "HTTP/2",
        HttpVersion::Upgrade => "HTTP/2 after an upgrade from HTTP/1.1",
        HttpVersion::Negotiated => "what the server chose by ALPN",
    };
    let mut facts = vec![
        ("URL", plan.target.url.clone()),
        ("Endpoint", format!("{}, Host: {}", plan.target.endpoint, plan.target.authority)),
        ("Spoken", http.to_owned()),
        ("Load", describe::load(plan)),
    ];
    if let Some(tls) = &plan.target.tls {
        let from = format!("{} to {}", tls.min, tls.max);
        facts
            .push(("TLS", format!("{from}, server name {}, trust {}", tls.server_name, tls.trust)));
    }
    if plan.requests.list.len() > 1 {
        let order = match plan.requests.order {
            Order::Rotation => "one after the other",
            Order::Weighted => "at random by weight",
        };
        facts.push(("Order", order.to_owned()));
    }
    section.facts(&facts);
    let mut table = Table::new([
        Column::words("request"),
        Column::words("method"),
        Column::words("path"),
        Column::words("header fields"),
        Column::figures("body"),
        Column::words("right"),
    ]);
    /// More rows than this nobody reads.
    const MOST: usize = 50;
    for one in plan.requests.list.iter().take(MOST) {
        let headers: Vec<_> =
            one.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        table.row([
            one.name.clone(),
            one.method.clone(),
            one.path.clone(),
            headers.join(" · "),
            match one.body.hash() {
                Some(hash) => format!("{} #{hash}", fmt_bytes(one.body.count())),
                None => fmt_bytes(one.body.count()),
            },
            format!("{}; body {}", one.expect.status, one.expect.body),
        ]);
    }
    section.table(&table);
    if plan.requests.list.len() > MOST {
        section
            .remark(&format!("and {} more", fmt_count((plan.requests.list.len() - MOST) as u64)));
    }
    if let Some(words) = words::again(&document.arguments) {
        section.text("Again:");
        section.code(&[words.join(" ")]);
        if let Some(note) = words::left_out(&words) {
            section.remark(note);
        }
    }
}
