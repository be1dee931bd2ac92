-- Runs in the states of a sandbox after the prelude: removes forbidden functions, and replaces
-- those that could stay in C for long by bounded ones.
--
-- A hook that Lua runs between its instructions ends a call, so no code may go on for long without
-- hooks: no search by C, no finaliser (hooks are off in them), no error handler of xpcall (it runs
-- within the hook), no parser at work on a text without bound. Nor may C call Lua call C without
-- bound, since C's stack is finite.
local given = ...
local most_source, search = given.most_source, given.search
local error, load, pairs, pcall, print, select, tonumber, tostring, type =
  error, load, pairs, pcall, print, select, tonumber, tostring, type
local byte, format, sub, concat, sort = string.byte, string.format, string.sub, table.concat, table.sort
local create, resume = coroutine.create, coroutine.resume
local globals, strings, tables, threads = _G, string, table, coroutine

local function keep(all, names)
  local kept = {}
  for name in names:gmatch("[%w_]+") do kept[name] = true end
  for name in pairs(all) do
    if not kept[name] then all[name] = nil end
  end
end

keep(globals, [[
  _G _VERSION assert bit collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring math
  next pairs pcall print rawequal rawget rawlen rawset select setmetatable string table tonumber
  tostring type unpack wrk xpcall
]])
keep(strings, "byte char find format gfind gmatch gsub len lower match rep reverse sub upper")
keep(tables, "concat foreach foreachi getn insert maxn move pack remove sort unpack")
wrk.lookup, wrk.connect = nil, nil

-- Source: text only, since bytecode can do anything, and not too much of it for the parser.

local function gathered(read)
  local pieces, bytes = {}, 0
  while bytes <= most_source do
    local piece = read()
    if piece == nil or piece == "" then break end
    if type(piece) ~= "string" then error("reader function must return a string", 0) end
    pieces[#pieces + 1], bytes = piece, bytes + #piece
  end
  return concat(pieces)
end

function globals.load(text, name, _, env)
  if type(text) == "function" then
    local ok
    ok, text = pcall(gathered, text)
    if not ok then return nil, text end
    name = name or "=(load)"
  end
  if type(text) ~= "string" then error("load takes a string or a function", 2) end
  if #text > most_source then
    return nil, format("a text of %d bytes; a sandbox loads %d at most", #text, most_source)
  end
  return load(text, name, "t", env == nil and globals or env)
end

function globals.loadstring(text, name)
  if type(text) ~= "string" then error("loadstring takes a string", 2) end
  return globals.load(text, name)
end

-- Calls from C to Lua.

local DEEPEST = 150
local depth = 0

local function left(ok, ...)
  depth = depth - 1
  if ok then return ... end
  error((...), 0)
end

-- `f`, a function of C that may call Lua, so deep at most.
local function bounded(f)
  return function(...)
    if depth >= DEEPEST then error("C stack overflow", 2) end
    depth = depth + 1
    return left(pcall(f, ...))
  end
end

-- `...`, with tables and userdata as the strings that C would ask Lua for.
local function shown(value, ...)
  local kind = type(value)
  if kind == "table" or kind == "userdata" then value = tostring(value) end
  if select("#", ...) == 0 then return value end
  return value, shown(...)
end

local function has_objects(...)
  for index = 1, select("#", ...) do
    local kind = type((select(index, ...)))
    if kind == "table" or kind == "userdata" then return true end
  end
  return false
end

function strings.format(form, ...)
  if has_objects(...) then return format(form, shown(...)) end
  return format(form, ...)
end

globals.print = bounded(print)
threads.resume = bounded(resume)
local bounded_resume = threads.resume
wrk.format = bounded(wrk.format)

local function unwrapped(ok, ...)
  if ok then return ... end
  error((...), 0)
end

function threads.wrap(f)
  local thread = create(f)
  return function(...) return unwrapped(bounded_resume(thread, ...)) end
end

local function handled(handle, ok, ...)
  if ok then return true, ... end
  return false, select(2, pcall(handle, ...))
end

function globals.xpcall(f, handle, ...)
  return handled(handle, pcall(f, ...))
end

-- A comparison by Lua gives the hook its turn.
local function is_less(a, b) return a < b end
local bounded_sort = bounded(sort)

function tables.sort(list, less)
  return bounded_sort(list, less or is_less)
end

-- C goes through all positions from a low one on, and entries that are nil take no memory.
local insert = table.insert

function tables.insert(list, ...)
  local at = select("#", ...) > 1 and tonumber((...)) or 1
  if not (at >= 1 and at < 2147483648) then
    error("bad argument #2 to 'insert' (position out of bounds)", 2)
  end
  return insert(list, ...)
end

-- Patterns.

local function text(value, index, name)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  error(format("bad argument #%d to '%s' (string expected, got %s)", index, name,
    value == nil and "no value" or type(value)), 3)
end

local function offset(init, bytes)
  init = tonumber(init) or 1
  if init < 0 then init = init + bytes + 1 end
  return init < 1 and 0 or init > bytes and bytes or init - init % 1 - 1
end

-- Captures, each by its first and its last byte; the last of a position is -1.
local function captured(subject, from, to, ...)
  if not from then return end
  if to < 0 then return from, captured(subject, ...) end
  return sub(subject, from, to), captured(subject, ...)
end

local function found(subject, from, to, ...)
  if from then return from, to, captured(subject, ...) end
  if from == false then error(to, 2) end
  return nil
end

local function matched(subject, from, to, ...)
  if from == false then error(to, 2) end
  if not from then return nil end
  if select("#", ...) == 0 then return sub(subject, from, to) end
  return captured(subject, ...)
end

-- The pattern without its anchor, and how it is to be searched for.
local function anchor(pattern, how)
  if byte(pattern) == 94 then return sub(pattern, 2), "anchored" end
  return pattern, how
end

function strings.find(subject, pattern, init, plain)
  subject, pattern = text(subject, 1, "find"), text(pattern, 2, "find")
  local how = "plain"
  if not plain then pattern, how = anchor(pattern, "find") end
  return found(subject, search(subject, pattern, offset(init, #subject), how))
end

function strings.match(subject, pattern, init)
  subject, pattern = text(subject, 1, "match"), text(pattern, 2, "match")
  local how
  pattern, how = anchor(pattern, "match")
  return matched(subject, search(subject, pattern, offset(init, #subject), how))
end

function strings.gmatch(subject, pattern)
  subject, pattern = text(subject, 1, "gmatch"), text(pattern, 2, "gmatch")
  local from = 0
  local function advanced(first, last, ...)
    -- After an empty match comes the next byte.
    if first then from = last < first and last + 1 or last end
    return matched(subject, first, last, ...)
  end
  return function()
    if from > #subject then return nil end
    return advanced(search(subject, pattern, from, "match"))
  end
end
if strings.gfind then strings.gfind = strings.gmatch end

-- The replacement of a match in a string: `%0` to `%9` are captures.
local function expanded(template, subject, from, to, ...)
  local captures, pieces, start = { captured(subject, ...) }, {}, 1
  captures[0] = sub(subject, from, to)
  if #captures == 0 then captures[1] = captures[0] end
  while true do
    local at = search(template, "%", start - 1, "plain")
    if not at then break end
    pieces[#pieces + 1] = sub(template, start, at - 1)
    local code = sub(template, at + 1, at + 1)
    local index = byte(code) and byte(code) >= 48 and byte(code) <= 57 and byte(code) - 48
    if index and captures[index] == nil then error("invalid capture index", 0) end
    pieces[#pieces + 1] = index and captures[index] or code
    start = at + 2
  end
  pieces[#pieces + 1] = sub(template, start)
  return concat(pieces)
end

local function replacement(by, subject, from, to, ...)
  local kind, value = type(by), nil
  if kind == "string" then
    return expanded(by, subject, from, to, ...)
  elseif kind == "table" then
    value = by[(matched(subject, from, to, ...))]
  else
    value = by(matched(subject, from, to, ...))
  end
  if not value then return sub(subject, from, to) end
  if type(value) ~= "string" and type(value) ~= "number" then
    error(format("invalid replacement value (a %s)", type(value)), 0)
  end
  return value
end

function strings.gsub(subject, pattern, by, most)
  subject, pattern = text(subject, 1, "gsub"), text(pattern, 2, "gsub")
  local kind = type(by)
  if kind == "number" then
    by = tostring(by)
  elseif kind ~= "string" and kind ~= "table" and kind ~= "function" then
    error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
  end
  most = tonumber(most) or #subject + 1
  local how
  pattern, how = anchor(pattern, "match")
  -- Before `done` all is in `pieces`; the next match begins at `from` or later.
  local pieces, done, from, count = {}, 0, 0, 0
  local function replaced(first, last, ...)
    if first == false then error(last, 3) end
    if not first then return false end
    count = count + 1
    pieces[#pieces + 1] = sub(subject, done + 1, first - 1)
    pieces[#pieces + 1] = replacement(by, subject, first, last, ...)
    done, from = last, last < first and last + 1 or last
    return how ~= "anchored" and from <= #subject
  end
  while count < most and replaced(search(subject, pattern, from, how)) do end
  pieces[#pieces + 1] = sub(subject, done + 1)
  return concat(pieces), count
end
