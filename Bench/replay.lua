-- wrk replays a file of prepared requests in a circle.
-- A line is one request: method, path, headers ("Name: value" joined by |) and body, separated by tabs; "-" is none.
local requests, position = {}, 0

function init(arguments)
  for line in assert(io.open(arguments[1])):lines() do
    local method, path, head, body = line:match("^([^\t]+)\t([^\t]+)\t([^\t]+)\t(.+)$")
    local headers = {}
    if head ~= "-" then
      for name, value in head:gmatch("([^|:]+): ([^|]+)") do headers[name] = value end
    end
    requests[#requests + 1] = wrk.format(method, path, headers, body ~= "-" and body or nil)
  end
  assert(#requests > 0, "no requests in " .. arguments[1])
  position = tonumber(arguments[2] or 0) % #requests
end

function request()
  position = position % #requests + 1
  return requests[position]
end
