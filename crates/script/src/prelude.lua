-- Runs in every state before the script. `given` has values of the plan.
local given = ...

wrk = {
  scheme = given.scheme, host = given.host, port = given.port,
  method = given.method, path = given.path, headers = given.headers, body = given.body,
  thread = given.thread,
  format = given.format, lookup = given.lookup, connect = given.connect, time_us = given.time_us,
  connection = given.connection,
}

function wrk.request()
  return wrk.format()
end

-- Compiled code would not see the hook that ends calls.
if jit then jit.off() end
