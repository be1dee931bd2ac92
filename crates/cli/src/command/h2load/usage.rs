//! Texts of `candor h2load`.

/// The line of `--version`.
pub(super) fn version() -> String {
    format!("h2load candor/{}\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`.
pub(crate) const HELP: &str = "\
candor h2load [OPTIONS]... [URI]...

The command line of h2load, with its output, and corrected figures: every request is timed, a
lost connection is replaced, and --rps is one exact schedule of all clients. Started under the name
h2load, this program does the same, so a link is enough to replace h2load.

  <URI>                  URIs to request, in turn. The first says scheme, host and port for all
  -n, --requests=<N>     Requests over all clients [1]; with a timing script, lines of it
  -c, --clients=<N>      Clients, each with a connection [1]
  -t, --threads=<N>      Threads [1]
  -i, --input-file=<F>   File with a URI in each line; - is the standard input
  -m, --max-concurrent-streams=<N>
                         Streams of a client at a time, or over HTTP/1.1 pipelined requests [1]
  -D, --duration=<T>     Length of the run, instead of -n
      --warm-up-time=<T> Before -D, and not measured
  -r, --rate=<N>         New connections in each period, up to -c; each has its share of -n
      --rate-period=<T>  The period [1s]
      --rps=<N>          Requests a second of each client: exactly N times -c, over all of them
      --interval=<T>     Print the time (ns since 1970) and the rate of each interval of a run
                         for a duration, as its fork for ElixirConf does: RPSI TIME RATE
      --timing-script-file=<F>
                         Lines of an offset in milliseconds, a tab and a URI, for every client
  -T, --connection-active-timeout=<T>
                         Close a connection at this age; requests on it time out
  -N, --connection-inactivity-timeout=<T>
                         Close a connection on which no byte of an awaited response comes
  -H, --header=<H>       Header, as 'name: value'; also ':method: M' and ':authority: A'
  -d, --data=<F>         POST this file
  -B, --base-uri=<URI>   Scheme, host and port for all URIs; unix:PATH is a unix socket
      --connect-to=<HOST>[:<PORT>]
                         Where to connect to, instead of the URI's host
  -p, --no-tls-proto=<P> In clear text: h2c [default] or http/1.1
      --alpn-list=<L>    Over TLS: h2, http/1.1 or both, in order; also --npn-list. h3: over QUIC
      --h3               HTTP/3, over QUIC: as --alpn-list=h3
      --h1               HTTP/1.1, in clear text and over TLS
  -w, --window-bits=<N>  Window of a stream, (2**N)-1 bytes [30]; over QUIC at most 26
  -W, --connection-window-bits=<N>
                         Window of a connection [30]
  -f, --max-frame-size=<SIZE>
                         Largest frame to take [16K]
      --header-table-size=<SIZE>, --encoder-header-table-size=<SIZE>
                         Tables for header fields, the server's and ours [4K]
      --ciphers, --tls13-ciphers, --groups
                         Lists with OpenSSL's names; --ciphers also with its words, as HIGH:!AES128
      --sni=<NAME>       Server name in the TLS handshake, instead of the URI's host
      --histogram        Plot the times below their lines
      --log-file=<F>     A line for each request: start in us since 1970, status, us until its end
  -v, --verbose; --no-udp-gso, --max-udp-payload-size
                         Accepted without effect
      --version, -h, --help

And one of candor:
      --result=<F>       Write candor's own result document, for candor report
      --show-secrets     Keep the values of headers and of the URI's parameters

--qlog-file-base, --ktls, --tls-session-file and --output-file are refused. <SIZE> takes K, M and
G (powers of 1024), <DURATION> takes h, m, s and ms; without a unit it is seconds.

The standard output has only h2load's output. The ledger of all requests and the
verdicts on the result go to the standard error.

Examples:
  candor h2load -n100000 -c100 -m10 https://localhost:8443/
  candor h2load -D30 --warm-up-time=5 -c10 -m10 http://localhost:8080/
  candor h2load --rps=100 -D30 -c10 --log-file=requests.tsv http://localhost:8080/
  ln -s \"$(command -v candor)\" ~/bin/h2load

docs/coming-from-h2load.md compares the two option by option.

Exit codes: 0 there is a result, even with errors or an interruption; 1 usage, or the server
cannot be reached; 4 the figures contradict each other.
";

#[cfg(test)]
mod tests {
    use candor_testkit::h2load_form::transcript;

    use super::*;
    use crate::command::h2load::flags::FLAGS;
    use crate::getopt::Flag;

    #[test]
    fn the_page_fits_a_terminal() {
        assert!(HELP.lines().all(|line| line.len() <= 100));
    }

    #[test]
    fn every_option_of_the_original_is_known() {
        let words = transcript("h2load-usage").split_whitespace();
        let options = words.filter_map(|word| word.strip_prefix("--"));
        let mut seen = 0;
        for option in options {
            let name: String =
                option.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            if !name.is_empty() {
                assert_eq!(Flag::of_name(FLAGS, &name).map(|flag| flag.long), Ok(name.as_str()));
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen}");
    }
}
