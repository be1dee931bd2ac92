-- Stop after a number of responses, whatever the duration.
--
--   candor wrk -t2 -c8 -d60s -s examples/wrk/stop-after.lua http://localhost:8080/ -- 100
--
-- thread:stop() ends one thread; each counts for itself. wrk itself still waits for the whole
-- duration, and has nothing to do meanwhile.

local left

function init(args)
   left = tonumber(args[1]) or 100
end

function response(status, headers, body)
   left = left - 1
   if left == 0 then
      wrk.thread:stop()
   end
end
