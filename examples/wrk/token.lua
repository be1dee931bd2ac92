-- A token from a response's header, used in every later request.
--
--   candor wrk -t1 -c4 -d5s -s examples/wrk/token.lua http://localhost:8080/
--
-- Until there is a token, requests go to /login. Each thread logs in for itself: threads share
-- nothing. Run it against a server whose response to /login has a header X-Token.

local token = nil

function init(args)
   login = wrk.format("GET", "/login")
end

function request()
   if not token then
      return login
   end
   return wrk.format("GET", "/private", { ["Authorization"] = "Bearer " .. token })
end

function response(status, headers, body)
   -- Names of headers come as the server wrote them.
   if not token and status == 200 then
      token = headers["X-Token"] or headers["x-token"]
   end
end
