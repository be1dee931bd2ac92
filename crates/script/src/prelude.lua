-- Runs in every state before the script. `given` has what the plan says.
local given, sandbox = ...

wrk = {
  scheme = given.scheme, host = given.host, port = given.port,
  method = given.method, path = given.path, headers = given.headers, body = given.body,
  thread = given.thread,
  format = given.format, lookup = given.lookup, connect = given.connect, time_us = given.time_us,
}

function wrk.request()
  return wrk.format()
end

if sandbox then
  -- Text only: bytecode can do anything.
  local load = load
  function loadstring(text, name)
    if type(text) ~= "string" then error("loadstring takes a string", 2) end
    return load(text, name, "t")
  end
  _G.load = function(text, name, _, env)
    if env == nil then env = _G end
    return load(text, name, "t", env)
  end
  dofile, loadfile, require, module, package = nil, nil, nil, nil, nil
  io, os, ffi, debug, jit = nil, nil, nil, nil, nil
  string.dump = nil
  wrk.lookup, wrk.connect = nil, nil
else
  jit.off()
end
