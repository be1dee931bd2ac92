//! Texts of `candor ghz`.

/// The line of `--version`.
pub(super) fn version() -> String {
    format!("ghz candor/{}\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`.
pub(crate) const HELP: &str = "\
candor ghz [OPTIONS]... HOST:PORT

The command line of ghz, with its output, and corrected figures: with -r a call is due at its time,
whatever the server does, and its latency counts from then. Started under the name ghz, this program
does the same, so a link is enough to replace ghz.

  candor ghz --insecure --call shop.Orders.Get -d '{\"id\": 1}' -c 20 -n 1000 localhost:50051
  candor ghz --proto orders.proto --call shop.Orders/Get --skipTLS -r 500 -z 30s localhost:50051

      --call=<METHOD>       The method: package.Service/Method or package.Service.Method
      --proto=<FILE>        The .proto file; without it and --protoset the server is asked (reflection)
      --protoset=<FILE>     The compiled protoset
  -i, --import-paths=<L>    Directories of imports, separated by commas
      --insecure            Clear text; otherwise TLS
      --skipTLS             Check no certificate
      --cacert, --cert, --key=<FILE>
                            Authorities of the server; certificate and key of ours
      --cname=<NAME>        The server's name in its certificate
      --authority=<NAME>    The :authority
  -c, --concurrency=<N>     Calls at a time, over all connections [50]
      --connections=<N>     Connections [1]
  -n, --total=<N>           Calls [200]
  -z, --duration=<T>        Length of the run, instead of -n
  -x, --max-duration=<T>    The longest time for -n
      --duration-stop=<HOW> Calls in flight at the end: close, wait or ignore [close]
  -r, --rps=<N>             Calls a second, over all connections
      --async               Calls wait for no others; without -r at most 1000 on each connection
      --load-schedule=<S>   const, step or line, with --load-start, --load-step, --load-end,
                            --load-step-duration and --load-max-duration
  -t, --timeout=<T>         Deadline of a call; 0 is none [20s]
      --connect-timeout=<T> For a connection [10s]
  -d, --data=<JSON>         The message, or an array: messages of a stream, or in turn; @ is the
                            standard input, @FILE a file
  -D, --data-file=<FILE>    The same from a file
  -B, --binary-file=<FILE>  The message in binary; of a stream each with its length in front
  -b, --binary              The same from the standard input
      --stream-call-count=<N>
                            Messages of a call that streams: -d again and again
  -m, --metadata=<JSON>     Metadata, as an object of texts
  -M, --metadata-file=<F>   The same from a file
      --disable-template-data, --disable-template-functions
                            {{…}} in data and metadata stays as it is
      --max-recv-message-size=<SIZE>
                            The longest message to accept [2GiB]
  -O, --format=<FORMAT>     summary, json, pretty, csv, html, influx-summary or influx-details
                            [summary]
      --skipFirst=<N>       The first N calls that end are in no figure
      --count-errors        Latencies are those of errors too
  -o, --output=<FILE>       Write the output to a file
      --name=<NAME>, --tags=<JSON>
                            For the output
      --cpus=<N>            Threads
      --config=<FILE>       Options from a file in JSON or TOML; those of the command line come first
      --keepalive, --lb-strategy, --max-send-message-size, --debug
                            Accepted without effect
  -v, --version; -h, --help

And two of candor:
      --result=<FILE>       Write candor's own result document, for candor report
      --show-secrets        Keep the values of metadata

In data and metadata: {{.RequestNumber}}, {{.WorkerID}}, {{.UUID}}, {{.Timestamp}}, {{.TimestampUnix}},
{{.TimestampUnixMilli}}, {{.TimestampUnixNano}}, {{.FullyQualifiedName}}, {{.ServiceName}},
{{.MethodName}}, {{newUUID}}, {{randomString 8}} and {{randomInt 1 10}}; others are refused. Refused as
well: -e, schedules of concurrency without a rate, the pace of streams, and the format prometheus. HOST:PORT can
have dns:///, passthrough:/// or unix: in front. <T> is as in 1m30s.
";
