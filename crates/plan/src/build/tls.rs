//! TLS and the version of HTTP, from the URL's scheme and the flags together.

use super::{Files, calls};
use crate::error::{PlanError, conflict, exclude, value};
use crate::options::Options;
use crate::run::{Frames, Quic, Windows};
use crate::targets::{HttpVersion, Identity, Pem, Tls, TlsVersion, Trust};
use crate::url::HttpUrl;
use crate::values::{Names, OnOff, Size, SmallCount, WindowBits};
use crate::wire::CallForm;

/// Default windows of HTTP/2: the same as h2load's, so large that the peer never waits for us.
const DEFAULT_WINDOW_BITS: u8 = 30;
/// The same of HTTP/3, whose datagrams come in any order: what is missing in between is waited for, and all that came
/// behind it is kept.
const DEFAULT_H3_WINDOW_BITS: u8 = 24;

/// Which HTTP is spoken.
pub(super) fn http(options: &Options, url: &HttpUrl) -> Result<HttpVersion, PlanError> {
    let asked = [
        ("--h1", options.http2.h1),
        ("--h2", options.http2.h2),
        ("--h2c", options.http2.h2c),
        ("--h2c-upgrade", options.http2.h2c_upgrade),
        (H3, options.http2.h3),
        (ALT_SVC, options.http2.alt_svc),
    ];
    let mut asked = asked.into_iter().filter(|(_, given)| *given).map(|(option, _)| option);
    if let (Some(one), Some(other)) = (asked.next(), asked.next()) {
        return Err(conflict(one, other, "both choose the version of HTTP; leave one of them out"));
    }
    if options.http2.h2c && url.is_https {
        return Err(conflict("--h2c", "https", "h2c is HTTP/2 in clear text; write --h2"));
    }
    if options.http2.h2c_upgrade && url.is_https {
        let why = "TLS uses ALPN instead of an upgrade; write --h2";
        return Err(conflict("--h2c-upgrade", "https", why));
    }
    if options.http2.is_h3() {
        return h3(options, url).map(|()| HttpVersion::H3);
    }
    let h3_only = [("--cc", options.http2.cc.is_some()), ("--mtu", options.http2.mtu.is_some())];
    exclude(h3_only, "HTTP over TCP", "it is for QUIC; add --h3, or leave it out")?;
    let h2_only = [
        ("--max-frame-size", options.http2.max_frame_size.is_some()),
        ("--header-table-size", options.http2.header_table_size.is_some()),
        ("--encoder-header-table-size", options.http2.encoder_header_table_size.is_some()),
        ("--streams", options.http2.streams.is_some()),
        ("--window-bits", options.http2.window_bits.is_some()),
        ("--connection-window-bits", options.http2.connection_window_bits.is_some()),
    ];
    let are_calls = calls::are_asked(options);
    let is_grpc = are_calls && calls::form(options) == CallForm::Grpc;
    let other = [
        ("--h1", options.http2.h1 && is_grpc),
        ("--h2c-upgrade", options.http2.h2c_upgrade && are_calls),
    ];
    exclude(other, "--call", "calls go over HTTP/2 from the start; leave it out")?;
    let is_h2 = options.http2.h2 || options.http2.h2c || options.http2.h2c_upgrade || is_grpc;
    // A script's text is HTTP/1.1, so that is the protocol unless the user chose another.
    // So does a WebSocket: few servers open one over HTTP/2.
    let is_h1 = options.http2.h1
        || !is_h2 && (!url.is_https || url.is_websocket || options.script.script.is_some());
    if is_h1 {
        let why = "it is for HTTP/2; add --h2, or use --pipeline for several requests at a time";
        exclude(h2_only, "HTTP/1.1", why)?;
    }
    if options.requests.pipeline.is_some() && (is_h2 || options.http2.streams.is_some()) {
        return Err(conflict(
            "--pipeline",
            "HTTP/2",
            "its requests in flight are streams; write --streams",
        ));
    }
    Ok(match (is_h2, is_h1) {
        (true, _) if options.http2.h2c_upgrade => HttpVersion::Upgrade,
        (true, _) => HttpVersion::H2,
        (false, true) => HttpVersion::H1,
        (false, false) => HttpVersion::Negotiated,
    })
}

const H3: &str = "--h3";
const ALT_SVC: &str = "--alt-svc";

/// What options say that HTTP/3 does not have, or that is not built for it.
fn h3(options: &Options, url: &HttpUrl) -> Result<(), PlanError> {
    let asked = if options.http2.alt_svc { ALT_SVC } else { H3 };
    if !url.is_https {
        let (scheme, why) = match url.is_websocket {
            true => ("ws", "QUIC is always encrypted; write wss:// in the URL"),
            false => ("http", "QUIC is always encrypted; write https:// in the URL"),
        };
        return Err(conflict(asked, scheme, why));
    }
    let of_h2 = [
        ("--max-frame-size", options.http2.max_frame_size.is_some()),
        ("--encoder-header-table-size", options.http2.encoder_header_table_size.is_some()),
    ];
    exclude(of_h2, asked, "it is for HTTP/2; leave it out")?;
    if options.requests.pipeline.is_some() {
        let why = "its requests in flight are streams; write --streams";
        return Err(conflict("--pipeline", asked, why));
    }
    if options.tls.alpn.is_some() {
        return Err(conflict("--alpn", asked, "QUIC offers h3 alone; leave one of them out"));
    }
    Ok(())
}

/// Windows of HTTP/2 and HTTP/3.
pub(super) fn windows(options: &Options) -> Windows {
    let has_h3 =
        options.http2.is_h3() || options.connecting.target.iter().any(|one| one.h3 || one.alt_svc);
    let default = if has_h3 { DEFAULT_H3_WINDOW_BITS } else { DEFAULT_WINDOW_BITS };
    let bits = |asked: Option<WindowBits>| asked.map_or(default, WindowBits::get);
    Windows {
        stream_bits: bits(options.http2.window_bits),
        connection_bits: bits(options.http2.connection_window_bits),
    }
}

/// Sizes of HTTP/2's frames and of its tables for header fields.
pub(super) fn frames(options: &Options) -> Frames {
    let default = Frames::default();
    // A value that does not fit is too large in any case.
    let bytes = |asked: Option<Size>, default| {
        asked.map_or(default, |Size(bytes)| u32::try_from(bytes).unwrap_or(u32::MAX))
    };
    Frames {
        max_bytes: bytes(options.http2.max_frame_size, default.max_bytes),
        header_table_bytes: bytes(options.http2.header_table_size, default.header_table_bytes),
        encoder_table_bytes: bytes(
            options.http2.encoder_header_table_size,
            default.encoder_table_bytes,
        ),
    }
}

/// How QUIC sends.
pub(super) fn quic(options: &Options) -> Quic {
    let default = Quic::default();
    // A value that does not fit is too long in any case.
    let bytes = |asked: SmallCount| u16::try_from(asked.get()).unwrap_or(u16::MAX);
    Quic {
        congestion: options.http2.cc.unwrap_or(default.congestion),
        datagram_bytes: options.http2.mtu.map_or(default.datagram_bytes, bytes),
    }
}

/// Streams of one connection.
pub(super) fn streams(options: &Options) -> u32 {
    options.http2.streams.map_or(1, SmallCount::get)
}

/// How connections are encrypted; `None` for http.
pub(super) fn tls(
    options: &Options,
    url: &HttpUrl,
    http: HttpVersion,
    files: &mut Files<'_>,
) -> Result<Option<Tls>, PlanError> {
    if !url.is_https {
        let tls_only = [
            ("--tls", options.tls.tls),
            ("--insecure", options.tls.insecure),
            ("--cacert", options.tls.cacert.is_some()),
            ("--cert", options.tls.cert.is_some()),
            ("--key", options.tls.key.is_some()),
            ("--sni", options.tls.sni.is_some()),
            ("--alpn", options.tls.alpn.is_some()),
            ("--tls-min", options.tls.tls_min.is_some()),
            ("--tls-max", options.tls.tls_max.is_some()),
            ("--tls-ciphers", options.tls.tls_ciphers.is_some()),
            ("--tls-groups", options.tls.tls_groups.is_some()),
            ("--tls-resumption", options.tls.tls_resumption.is_some()),
            ("--early-data", options.tls.early_data),
        ];
        let why = "clear text has no TLS; write https:// in the URL";
        return exclude(tls_only, "http", why).map(|()| None);
    }
    // QUIC has no earlier one.
    let oldest = if http == HttpVersion::H3 { TlsVersion::V13 } else { TlsVersion::V12 };
    let (min, max) = (
        options.tls.tls_min.unwrap_or(oldest).max(oldest),
        options.tls.tls_max.unwrap_or(TlsVersion::V13),
    );
    Ok(Some(Tls {
        trust: trust(options, files)?,
        server_name: options.tls.sni.clone().unwrap_or_else(|| {
            // A name or an address; a zone is neither.
            url.host.split('%').next().unwrap_or_default().to_owned()
        }),
        identity: identity(options, files)?,
        alpn: alpn(options, http)?,
        min,
        max,
        ciphers: names(&options.tls.tls_ciphers),
        groups: names(&options.tls.tls_groups),
        resumption: options.tls.tls_resumption.is_some_and(OnOff::is_on),
        early_data: options.tls.early_data,
    }))
}

fn names(list: &Option<Names>) -> Vec<String> {
    list.clone().map_or(Vec::new(), Names::into_vec)
}

fn trust(options: &Options, files: &mut Files<'_>) -> Result<Trust, PlanError> {
    match (&options.tls.cacert, options.tls.insecure) {
        (Some(_), true) => Err(conflict(
            "--cacert",
            "--insecure",
            "--insecure checks no certificate; leave one of them out",
        )),
        (Some(file), false) => Ok(Trust::Only(pem("--cacert", file, files)?)),
        (None, true) => Ok(Trust::Anybody),
        (None, false) => Ok(Trust::System),
    }
}

fn identity(options: &Options, files: &mut Files<'_>) -> Result<Option<Identity>, PlanError> {
    match (&options.tls.cert, &options.tls.key) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(value("--key", "a key needs its certificate; add --cert FILE")),
        (Some(cert), key) => Ok(Some(Identity {
            certificates: pem("--cert", cert, files)?,
            key: pem("--key", key.as_ref().unwrap_or(cert), files)?,
        })),
    }
}

fn pem(
    option: &'static str,
    file: &std::path::Path,
    files: &mut Files<'_>,
) -> Result<Pem, PlanError> {
    Ok(Pem { text: files.read(option, file)?.into(), file: file.display().to_string() })
}

/// The offered protocols match the run's: otherwise a server could choose one that the run does not
/// speak.
fn alpn(options: &Options, http: HttpVersion) -> Result<Vec<String>, PlanError> {
    let Some(asked) = &options.tls.alpn else {
        let names: &[&str] = match http {
            HttpVersion::H1 => &["http/1.1"],
            HttpVersion::H2 | HttpVersion::Upgrade => &["h2"],
            HttpVersion::Negotiated => &["h2", "http/1.1"],
            HttpVersion::H3 => &["h3"],
        };
        return Ok(names.iter().map(|&name| name.to_owned()).collect());
    };
    let asked = asked.clone().into_vec();
    if let Some(other) =
        asked.iter().find(|name| !["h2", "http/1.1", "http/1.0"].contains(&name.as_str()))
    {
        return Err(value(
            "--alpn",
            format!(
                "\"{}\" is not supported; write h2, http/1.1 or both",
                crate::redact::refused(other)
            ),
        ));
    }
    let offers_h2 = asked.iter().any(|name| name == "h2");
    match http {
        HttpVersion::H1 if offers_h2 => {
            Err(conflict("--alpn h2", "--h1", "the server would choose HTTP/2; leave h2 out"))
        }
        HttpVersion::H2 if asked != ["h2"] => {
            Err(conflict("--alpn", "--h2", "--h2 offers h2 alone; leave one of them out"))
        }
        _ => Ok(asked),
    }
}
