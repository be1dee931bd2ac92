-- A body in chunks, by POST. wrk.format() writes Content-Length, so the text is made by hand.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/chunked.lua http://localhost:8080/echo
--
-- Chunks can have any size; each begins with its length in hexadecimal digits, and one of length 0
-- ends the body. Over HTTP/2 candor sends their content.

local function chunks(...)
   local parts = {}
   for _, text in ipairs { ... } do
      parts[#parts + 1] = ("%x\r\n%s\r\n"):format(#text, text)
   end
   return table.concat(parts) .. "0\r\n\r\n"
end

local text

function init(args)
   local host = wrk.headers["Host"]
   text = "POST " .. wrk.path .. " HTTP/1.1\r\n"
      .. "Host: " .. host .. "\r\n"
      .. "Content-Type: text/plain\r\n"
      .. "Transfer-Encoding: chunked\r\n\r\n"
      .. chunks("from the first chunk, ", "from the second", (" and more"):rep(50))
end

function request()
   return text
end
