-- Pipelining: three requests leave in one write, and wrk waits for three responses.
--
--   candor wrk -t1 -c4 -d5s -s examples/wrk/pipeline.lua http://localhost:8080/
--
-- The string is made once, in init, because making it for each batch would cost more than
-- sending it.

local batch

function init(args)
   local requests = {
      wrk.format("GET", "/first"),
      wrk.format("GET", "/second"),
      wrk.format("GET", "/third?last=yes"),
   }
   batch = table.concat(requests)
end

function request()
   return batch
end
