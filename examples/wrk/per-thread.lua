-- Counters of single threads, collected at the end.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/per-thread.lua http://localhost:8080/
--
-- setup() runs once for each thread, in the main state, and keeps the threads; done() runs in that
-- state too, and reads the threads' counts. A thread's globals cross over: nil, booleans, numbers,
-- strings and tables of them.

local threads = {}

function setup(thread)
   thread:set("id", #threads + 1)
   table.insert(threads, thread)
end

function init(args)
   requests = 0
   statuses = {}
   path = "/thread/" .. id
end

function request()
   requests = requests + 1
   return wrk.format("GET", path)
end

function response(status, headers, body)
   local key = tostring(status)
   statuses[key] = (statuses[key] or 0) + 1
end

function done(summary, latency, stats)
   for _, thread in ipairs(threads) do
      local counts = {}
      for status, count in pairs(thread:get("statuses")) do
         table.insert(counts, status .. ": " .. count)
      end
      table.sort(counts)
      io.write(string.format("thread %d sent %d requests; answers %s\n",
         thread:get("id"), thread:get("requests"), table.concat(counts, ", ")))
   end
end
