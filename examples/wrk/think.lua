-- Think time: each connection pauses between 10 and 50 ms before its next request.
--
--   candor wrk -t1 -c20 -d5s -s examples/wrk/think.lua http://localhost:8080/
--
-- delay() gives milliseconds. Each thread has its own random numbers, from a seed that setup()
-- gives it.

local threads = 0

function setup(thread)
   threads = threads + 1
   thread:set("seed", threads)
end

function init(args)
   math.randomseed(seed)
end

function delay()
   return math.random(10, 50)
end
