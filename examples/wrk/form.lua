-- A form by POST, always the same: no function is needed, so the request is made once.
--
--   candor wrk -t2 -c8 -d5s -s examples/wrk/form.lua http://localhost:8080/orders

wrk.method = "POST"
wrk.body = "article=4711&amount=2&note=by+hand"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
