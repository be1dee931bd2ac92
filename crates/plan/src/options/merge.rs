//! One set of options over another: what was typed over what stands in a plan.

use super::Options;
use crate::values::Header;

impl Options {
    /// These options, with those of `plan` where these say nothing.
    ///
    /// An option also hides those of the plan that say the same thing in another way: `--rate`
    /// hides `load`, `--body` hides `body-file`. Headers replace those of the same name; other
    /// lists replace the whole list.
    pub fn or(self, mut plan: Options) -> Options {
        if self.rate.is_some() || self.load.is_some() {
            (plan.rate, plan.load) = (None, None);
        }
        if self.body.is_some() || self.body_file.is_some() {
            (plan.body, plan.body_file) = (None, None);
        }
        if self.expect_body.is_some() || self.expect_body_bytes.is_some() {
            (plan.expect_body, plan.expect_body_bytes) = (None, None);
        }
        if self.h1 || self.h2 || self.h2c || self.h2c_upgrade {
            (plan.h1, plan.h2, plan.h2c, plan.h2c_upgrade) = (false, false, false, false);
        }
        if self.insecure || self.cacert.is_some() {
            (plan.insecure, plan.cacert) = (false, None);
        }
        if self.connect_to.is_some() || self.unix_socket.is_some() {
            (plan.connect_to, plan.unix_socket) = (None, None);
        }
        Options {
            url: self.url.or(plan.url),
            connections: self.connections.or(plan.connections),
            threads: self.threads.or(plan.threads),
            duration: self.duration.or(plan.duration),
            requests: self.requests.or(plan.requests),
            rate: self.rate.or(plan.rate),
            arrivals: self.arrivals.or(plan.arrivals),
            pacing: self.pacing.or(plan.pacing),
            reactor: self.reactor.or(plan.reactor),
            load: self.load.or(plan.load),
            seed: self.seed.or(plan.seed),
            think_time: self.think_time.or(plan.think_time),
            shed_after: self.shed_after.or(plan.shed_after),
            max_connections: self.max_connections.or(plan.max_connections),
            connect_rate: self.connect_rate.or(plan.connect_rate),
            connect_during_run: self.connect_during_run || plan.connect_during_run,
            once: self.once || plan.once,
            warm_up: self.warm_up.or(plan.warm_up),
            drain: self.drain.or(plan.drain),
            give_up: self.give_up.or(plan.give_up),
            method: self.method.or(plan.method),
            header: headers_over(plan.header, self.header),
            body: self.body.or(plan.body),
            body_file: self.body_file.or(plan.body_file),
            chunked: self.chunked.or(plan.chunked),
            expect_continue: self.expect_continue || plan.expect_continue,
            pieces: self.pieces.or(plan.pieces),
            piece_gap: self.piece_gap.or(plan.piece_gap),
            break_off_after: self.break_off_after.or(plan.break_off_after),
            pipeline: self.pipeline.or(plan.pipeline),
            requests_per_connection: self.requests_per_connection.or(plan.requests_per_connection),
            connection_lifetime: self.connection_lifetime.or(plan.connection_lifetime),
            no_keepalive: self.no_keepalive || plan.no_keepalive,
            order: self.order.or(plan.order),
            request: non_empty(self.request, plan.request),
            sequence: non_empty(self.sequence, plan.sequence),
            script: self.script.or(plan.script),
            script_arg: non_empty(self.script_arg, plan.script_arg),
            script_timeout: self.script_timeout.or(plan.script_timeout),
            script_body_limit: self.script_body_limit.or(plan.script_body_limit),
            sandbox: self.sandbox || plan.sandbox,
            expect_status: self.expect_status.or(plan.expect_status),
            expect_body_bytes: self.expect_body_bytes.or(plan.expect_body_bytes),
            expect_body: self.expect_body.or(plan.expect_body),
            connect_to: self.connect_to.or(plan.connect_to),
            resolve: non_empty(self.resolve, plan.resolve),
            unix_socket: self.unix_socket.or(plan.unix_socket),
            allow: non_empty(self.allow, plan.allow),
            no_nodelay: self.no_nodelay || plan.no_nodelay,
            source: self.source.or(plan.source),
            no_pin: self.no_pin || plan.no_pin,
            h1: self.h1 || plan.h1,
            h2: self.h2 || plan.h2,
            h2c: self.h2c || plan.h2c,
            h2c_upgrade: self.h2c_upgrade || plan.h2c_upgrade,
            streams: self.streams.or(plan.streams),
            window_bits: self.window_bits.or(plan.window_bits),
            connection_window_bits: self.connection_window_bits.or(plan.connection_window_bits),
            max_frame_size: self.max_frame_size.or(plan.max_frame_size),
            header_table_size: self.header_table_size.or(plan.header_table_size),
            encoder_header_table_size: self
                .encoder_header_table_size
                .or(plan.encoder_header_table_size),
            tls: self.tls || plan.tls,
            insecure: self.insecure || plan.insecure,
            cacert: self.cacert.or(plan.cacert),
            cert: self.cert.or(plan.cert),
            key: self.key.or(plan.key),
            sni: self.sni.or(plan.sni),
            alpn: self.alpn.or(plan.alpn),
            tls_min: self.tls_min.or(plan.tls_min),
            tls_max: self.tls_max.or(plan.tls_max),
            tls_ciphers: self.tls_ciphers.or(plan.tls_ciphers),
            tls_groups: self.tls_groups.or(plan.tls_groups),
            tls_resumption: self.tls_resumption.or(plan.tls_resumption),
            early_data: self.early_data || plan.early_data,
            timeout: self.timeout.or(plan.timeout),
            connect_timeout: self.connect_timeout.or(plan.connect_timeout),
            continue_timeout: self.continue_timeout.or(plan.continue_timeout),
            idle_timeout: self.idle_timeout.or(plan.idle_timeout),
            digits: self.digits.or(plan.digits),
            interval: self.interval.or(plan.interval),
            trace_sample: self.trace_sample.or(plan.trace_sample),
            kernel_timestamps: self.kernel_timestamps.or(plan.kernel_timestamps),
            json: self.json.or(plan.json),
            csv: self.csv.or(plan.csv),
            html: self.html.or(plan.html),
            hgrm: self.hgrm.or(plan.hgrm),
            hlog: self.hlog.or(plan.hlog),
            trace: self.trace.or(plan.trace),
            out: non_empty(self.out, plan.out),
            quiet: self.quiet || plan.quiet,
            expect: non_empty(self.expect, plan.expect),
            strict: self.strict || plan.strict,
            show_secrets: self.show_secrets || plan.show_secrets,
        }
    }
}

fn non_empty<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    if first.is_empty() { second } else { first }
}

/// `above` and, before them, those of `below` that have another name.
pub(crate) fn headers_over(below: Vec<Header>, above: Vec<Header>) -> Vec<Header> {
    let hidden =
        |one: &Header| above.iter().any(|other| other.name().eq_ignore_ascii_case(one.name()));
    let mut all: Vec<Header> = below.into_iter().filter(|one| !hidden(one)).collect();
    all.extend(above);
    all
}
