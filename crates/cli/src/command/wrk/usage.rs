//! Texts of `candor wrk`: the usage of each name, exactly as the original prints it, and the help.

use super::Name;

/// The usage, as the tool with this name prints it after a wrong command line.
pub(super) fn of(name: Name) -> &'static str {
    match name {
        Name::CandorWrk => ALL,
        Name::Wrk => WRK,
        Name::Wrk2 => WRK2,
    }
}

/// The line of `-v`.
pub(super) fn version() -> String {
    format!("wrk candor/{} [epoll]\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `candor wrk --help`.
pub(crate) const HELP: &str = "\
candor wrk <options> <url> [-- script arguments]

The command lines of wrk, wrk2 and yicwang's wrk2, with their output, and corrected figures. With
-R the load is open: requests are due by a schedule, and latency counts from when they were due.
Without -R it is a closed loop, as in wrk, and latency counts from the send. Started under the name
wrk or wrk2, this program does the same, so a link is enough to replace either.

Options of wrk:
  -c, --connections <N>  Connections to keep open [10]. All of them are used, even if -t does not
                         divide them
  -d, --duration <T>     Duration of test [10s]
  -t, --threads <N>      Threads [2], no more than connections
  -s, --script <S>       Lua script; the words after the URL are its arguments
  -H, --header <H>       Header, as 'Name: value'; may be repeated
  -L, --latency          Percentiles: four of them, or with -R the whole spectrum
  -T, --timeout <T>      For one response [2s]. A request that exceeds it is given up, with its
                         connection, and counted; wrk only counts it
  -v, --version          Version

Options of wrk2:
  -R, --rate <N>         Requests a second over all connections. 0.5, 7 and 20k are kept exactly
  -U, --u_latency        -L, and the spectrum of service times, from the send
  -B, --batch_latency    Not with -s, of whose batches each request has a latency

Options of yicwang's wrk2:
  -p, --report_interval <T>  A whole report for each interval of this length, each followed by
                             === REPORT END ===
  -D, --digits <N>       Significant digits of the histograms, 1 to 3 [3]; or arrivals, as
                         another fork has it: fixed, exp
  -e, --encoded          One JSON object, with the histogram in HdrHistogram's V1 encoding; also
                         --json_encoding

And three of candor:
      --hist-format <F>  Encoding of the histogram of -e: v1, or v2, which Python's library reads
      --result <FILE>    Write candor's own result document, for candor report
      --show-secrets     Keep the values of headers and of the URL's parameters

Numbers take k, M and G, times take us, ms, s, m and h; decimals are allowed.

The standard output has only the original's output. The ledger of all requests and
the verdicts on the result go to the standard error.

Examples:
  candor wrk -t2 -c100 -d30s --latency http://localhost:8080/
  candor wrk -t2 -c100 -d30s -R20k -L http://localhost:8080/
  candor wrk -t2 -c100 -d60s -R20k -p 10s -e http://localhost:8080/
  ln -s \"$(command -v candor)\" ~/bin/wrk2

docs/coming-from-wrk.md compares the four option by option.

Exit codes, as in wrk: 0 there is a result, even with errors or an interruption; 1 usage, or
the server cannot be reached. One more: 4, the figures contradict each other.
";

/// wrk's usage, blanks at the ends of lines included.
const WRK: &str = concat!(
    "Usage: wrk <options> <url>                            \n",
    "  Options:                                            \n",
    "    -c, --connections <N>  Connections to keep open   \n",
    "    -d, --duration    <T>  Duration of test           \n",
    "    -t, --threads     <N>  Number of threads to use   \n",
    "                                                      \n",
    "    -s, --script      <S>  Load Lua script file       \n",
    "    -H, --header      <H>  Add header to request      \n",
    "        --latency          Print latency statistics   \n",
    "        --timeout     <T>  Socket/request timeout     \n",
    "    -v, --version          Print version details      \n",
    "                                                      \n",
    "  Numeric arguments may include a SI unit (1k, 1M, 1G)\n",
    "  Time arguments may include a time unit (2s, 2m, 2h)\n",
);

/// wrk2's.
const WRK2: &str = concat!(
    "Usage: wrk <options> <url>                            \n",
    "  Options:                                            \n",
    "    -c, --connections <N>  Connections to keep open   \n",
    "    -d, --duration    <T>  Duration of test           \n",
    "    -t, --threads     <N>  Number of threads to use   \n",
    "                                                      \n",
    "    -s, --script      <S>  Load Lua script file       \n",
    "    -H, --header      <H>  Add header to request      \n",
    "    -L  --latency          Print latency statistics   \n",
    "    -U  --u_latency        Print uncorrected latency statistics\n",
    "        --timeout     <T>  Socket/request timeout     \n",
    "    -B, --batch_latency    Measure latency of whole   \n",
    "                           batches of pipelined ops   \n",
    "                           (as opposed to each op)    \n",
    "    -v, --version          Print version details      \n",
    "    -R, --rate        <T>  work rate (throughput)     \n",
    "                           in requests/sec (total)    \n",
    "                           [Required Parameter]       \n",
    "                                                      \n",
    "                                                      \n",
    "  Numeric arguments may include a SI unit (1k, 1M, 1G)\n",
    "  Time arguments may include a time unit (2s, 2m, 2h)\n",
);

/// The same form with all options.
const ALL: &str = concat!(
    "Usage: candor wrk <options> <url>                     \n",
    "  Options:                                            \n",
    "    -c, --connections <N>  Connections to keep open   \n",
    "    -d, --duration    <T>  Duration of test           \n",
    "    -t, --threads     <N>  Number of threads to use   \n",
    "                                                      \n",
    "    -s, --script      <S>  Load Lua script file       \n",
    "    -H, --header      <H>  Add header to request      \n",
    "    -L  --latency          Print latency statistics   \n",
    "    -U  --u_latency        Print uncorrected latency statistics\n",
    "        --timeout     <T>  Socket/request timeout     \n",
    "    -B, --batch_latency    Measure latency of whole   \n",
    "                           batches of pipelined ops   \n",
    "                           (as opposed to each op)    \n",
    "    -v, --version          Print version details      \n",
    "    -R, --rate        <T>  work rate (throughput)     \n",
    "                           in requests/sec (total)    \n",
    "                           [without it: closed loop]  \n",
    "    -p, --report_interval <T>  A whole report for each\n",
    "                           interval of this length    \n",
    "    -D, --digits      <N>  Significant digits, 1 to 3 \n",
    "    -e, --encoded          Print one JSON object      \n",
    "        --hist-format <F>  Of -e: v1 or v2            \n",
    "        --result      <F>  Write candor's document    \n",
    "                                                      \n",
    "                                                      \n",
    "  Numeric arguments may include a SI unit (1k, 1M, 1G)\n",
    "  Time arguments may include a time unit (2s, 2m, 2h)\n",
);

#[cfg(test)]
mod tests {
    use candor_testkit::wrk_form::transcript;

    use super::*;

    #[test]
    fn usages_are_the_originals_to_the_byte() {
        assert_eq!(of(Name::Wrk), transcript("wrk-usage"));
        assert_eq!(of(Name::Wrk2), transcript("wrk2-usage"));
    }

    #[test]
    fn the_page_fits_a_terminal() {
        assert!(HELP.lines().all(|line| line.len() <= 100));
    }
}
