-- One of the server's addresses for each thread, at random among those that respond.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/address.lua http://localhost:8080/
--
-- wrk.lookup() asks the resolver, wrk.connect() tries an address; thread.addr is where a
-- thread's connections go.

local addresses = nil

function setup(thread)
   if not addresses then
      addresses = {}
      for _, address in ipairs(wrk.lookup(wrk.host, wrk.port or "http")) do
         if wrk.connect(address) then
            table.insert(addresses, address)
         end
      end
      math.randomseed(os.time())
   end
   thread.addr = addresses[math.random(#addresses)]
   thread:set("address", tostring(thread.addr))
end

function init(args)
   wrk.headers["X-Address"] = address
end
