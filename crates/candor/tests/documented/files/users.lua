request = function() return wrk.format("GET", "/json") end
