-- A counter in the path and in a header: no two requests of a thread are the same.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/counter.lua http://localhost:8080/ -- 1000
--
-- The argument behind the URL is where the counters begin; args[0] is the URL itself.

local counter = 0

function init(args)
   counter = tonumber(args[1]) or 0
end

function request()
   counter = counter + 1
   return wrk.format("GET", "/item/" .. counter, { ["X-Counter"] = tostring(counter) })
end
