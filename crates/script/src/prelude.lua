-- Runs in every state before the script. `given` has values of the plan.
local given = ...

wrk = {
  scheme = given.scheme, host = given.host, port = given.port,
  method = given.method, path = given.path, headers = given.headers, body = given.body,
  thread = given.thread,
  format = given.format, lookup = given.lookup, connect = given.connect, time_us = given.time_us,
  connection = given.connection,
}

-- The user of the current call. Values are looked up when a script asks for them, and a user has a state from then
-- on; errors have the line of the script.
local error, setmetatable = error, setmetatable
local user = given.user
local states, places = user.states, user.place
local NOBODY = "there is no user here; request(), response() and delay() have one"

local function view(name, index)
  return setmetatable({}, {
    __index = index,
    __newindex = function() error(name .. " cannot be changed; keep values in wrk.user.state", 2) end,
    __metatable = false,
  })
end

local sets, numbers = {}, {}
for number, set in ipairs(user.sets) do
  local name, columns = "wrk.user." .. set.name, set.columns
  numbers[set.name] = number
  sets[set.name] = view(name, function(_, column)
    local place = column ~= nil and columns[column]
    if not place then error(name .. ": " .. user.unknown(number, column), 2) end
    local value, problem = user.value(number, place)
    if not value then error(name .. ": " .. (problem or NOBODY), 2) end
    return value
  end)
end

local rows = view("wrk.user.row", function(_, name)
  local number = name ~= nil and numbers[name]
  if not number then error("wrk.user.row: " .. user.unknown(nil, name), 2) end
  return user.row(number) or error("wrk.user.row: " .. NOBODY, 2)
end)

wrk.user = view("wrk.user", function(_, name)
  if name == "state" then
    local place = places()
    if not place then error("wrk.user.state: " .. NOBODY, 2) end
    local state = states[place]
    if not state then
      state = {}
      states[place] = state
    end
    return state
  elseif name == "index" then
    return user.index() or error("wrk.user.index: " .. NOBODY, 2)
  elseif name == "row" then
    return rows
  end
  return name ~= nil and sets[name] or error("wrk.user: " .. user.unknown(nil, name), 2)
end)

-- A script may replace these, as in wrk, which has `resolve` and `addrs` too.
local rawget = rawget
function wrk.setup(thread)
  local addrs = rawget(wrk, "addrs")
  if addrs then thread.addr = addrs[1] end
  if type(setup) == "function" then setup(thread) end
end

function wrk.init(args)
  if type(init) == "function" then init(args) end
  wrk.request = function() return wrk.format() end
end

function wrk.request()
  return wrk.format()
end

-- Names are looked up for scripts that ask.
setmetatable(wrk, {
  __index = function(_, name)
    if name == "addrs" then
      wrk.addrs = given.lookup(given.host, given.port or given.scheme)
      return rawget(wrk, "addrs")
    end
  end,
  __metatable = false,
})

-- Modules are found where Debian's wrk finds them: LuaJIT's own path has /usr/local alone. A sandbox has no modules.
if package then
  package.loaded.wrk = wrk
  local function add(key, entries)
    for _, entry in ipairs(entries) do
      if not (";" .. package[key] .. ";"):find(";" .. entry .. ";", 1, true) then
        package[key] = package[key] .. ";" .. entry
      end
    end
  end
  add("path", { "/usr/share/lua/5.1/?.lua", "/usr/share/lua/5.1/?/init.lua" })
  add("cpath", { "/usr/local/lib/lua/5.1/?.so", "/usr/lib/" .. given.machine .. "/lua/5.1/?.so", "/usr/lib/lua/5.1/?.so" })
end

-- Compiled code would not see the hook that ends calls.
if jit then jit.off() end
