-- Percentiles as CSV, and everything else that done() is given.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/percentiles.lua http://localhost:8080/
--
-- Latencies are microseconds. `requests` are the rates of single threads, sampled again and
-- again.

function done(summary, latency, requests)
   io.write("percentile,latency_us\n")
   for _, p in pairs({ 50, 75, 90, 95, 99, 99.9, 99.99, 100 }) do
      -- wrk gives 0 for a rank beyond its last sample; then the maximum is right.
      local value = p < 100 and latency:percentile(p) or latency.max
      io.write(string.format("%g,%d\n", p, value))
   end
   io.write(string.format("latency_us,min=%d,max=%d,mean=%.2f,stdev=%.2f,values=%d\n",
      latency.min, latency.max, latency.mean, latency.stdev, #latency))
   io.write(string.format("thread_rate,min=%d,max=%d,mean=%.2f,stdev=%.2f\n",
      requests.min, requests.max, requests.mean, requests.stdev))
   local errors = summary.errors
   io.write(string.format("summary,duration_us=%d,requests=%d,bytes=%d\n",
      summary.duration, summary.requests, summary.bytes))
   io.write(string.format("errors,connect=%d,read=%d,write=%d,status=%d,timeout=%d\n",
      errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
