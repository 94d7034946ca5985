-- The World/Fortune endpoints in Lua for nginx, to be measured beside Tsumugi. Not part of the product.
-- A client of PostgreSQL in a page, on nginx's cosockets: statements are prepared once a connection, all reads of a request leave in one write, and a
-- connection has one request at a time, as a cosocket must. Values come as text, which is what the answer needs.

local byte, char, sub, format, concat = string.byte, string.char, string.sub, string.format, table.concat
local band, rshift = bit.band, bit.rshift
local random = math.random

local ROWS, QUERIES_MAX = 10000, 500
local IDLE_MS, WAIT_MS, WAITING_MAX = 60000, 30000, 4096
local INT4, INT4S = 23, 1007

local STATEMENTS = {
  read = { "select id, randomnumber from world where id = $1", { INT4 } },
  fortunes = { "select id, message from fortune", {} },
  write = {
    "update world set randomnumber = fresh.number from unnest($1, $2) as fresh (id, number) where world.id = fresh.id",
    { INT4S, INT4S },
  },
}

local database, options

local function int16(number)
  return char(band(rshift(number, 8), 255), band(number, 255))
end

local function int32(number)
  return char(band(rshift(number, 24), 255), band(rshift(number, 16), 255), band(rshift(number, 8), 255), band(number, 255))
end

local function read16(text, at)
  local high, low = byte(text, at, at + 1)
  return high * 256 + low
end

-- Signed: a length of -1 is null.
local function read32(text, at)
  local a, b, c, d = byte(text, at, at + 3)
  return bit.bor(bit.lshift(a, 24), bit.lshift(b, 16), bit.lshift(c, 8), d)
end

local function message(kind, body)
  return kind .. int32(#body + 4) .. body
end

local SYNC = message("S", "")
local EXECUTE = message("E", "\0" .. int32(0))

-- The next message: its kind and body.
local function receive(socket)
  local head = assert(socket:receive(5))
  local length = read32(head, 2) - 4
  local kind = sub(head, 1, 1)
  local body = length > 0 and assert(socket:receive(length)) or ""
  if kind == "E" then
    error("PostgreSQL: " .. body:gsub("%z", " "), 0)
  end
  return kind, body
end

-- Calls `row` with each row's body until the server is ready so many times.
local function ready(socket, times, row)
  while times > 0 do
    local kind, body = receive(socket)
    if kind == "Z" then
      times = times - 1
    elseif kind == "D" then
      row(body)
    end
  end
end

local function authenticate(socket)
  while true do
    local kind, body = receive(socket)
    if kind == "R" then
      local asked = read32(body, 1)
      if asked == 3 then
        assert(socket:send(message("p", database.password .. "\0")))
      elseif asked == 5 then
        local once = ngx.md5(database.password .. database.user)
        assert(socket:send(message("p", "md5" .. ngx.md5(once .. sub(body, 5, 8)) .. "\0")))
      elseif asked ~= 0 then
        error("this client knows no such way of authenticating: " .. asked, 0)
      end
    elseif kind == "Z" then
      return
    end
  end
end

local function prepare(socket)
  local asked = {}
  for name, statement in pairs(STATEMENTS) do
    local text, types = statement[1], statement[2]
    local parts = { name, "\0", text, "\0", int16(#types) }
    for at = 1, #types do
      parts[#parts + 1] = int32(types[at])
    end
    asked[#asked + 1] = message("P", concat(parts))
  end
  asked[#asked + 1] = SYNC
  assert(socket:send(asked))
  ready(socket, 1)
end

local function connect()
  local socket = ngx.socket.tcp()
  socket:settimeouts(WAIT_MS, WAIT_MS, WAIT_MS)
  assert(socket:connect(database.host, database.port, options))
  if socket:getreusedtimes() == 0 then
    local start = int32(196608) .. "user\0" .. database.user .. "\0database\0" .. database.name .. "\0\0"
    assert(socket:send(int32(#start + 4) .. start))
    authenticate(socket)
    prepare(socket)
  end
  return socket
end

-- A Bind of text values, an Execute and a Sync.
local function ask(name, ...)
  local values = { ... }
  local parts = { "\0", name, "\0", int16(0), int16(#values) }
  for at = 1, #values do
    parts[#parts + 1] = int32(#values[at])
    parts[#parts + 1] = values[at]
  end
  parts[#parts + 1] = int16(0)
  return message("B", concat(parts)) .. EXECUTE .. SYNC
end

-- The two values of a row.
local function pair(body)
  local length = read32(body, 3)
  local second = 7 + length
  return sub(body, 7, 6 + length), sub(body, second + 4, second + 3 + read32(body, second))
end

local function worlds(socket, count)
  local asked, found = {}, {}
  for at = 1, count do
    asked[at] = ask("read", format("%d", random(ROWS)))
  end
  assert(socket:send(asked))
  ready(socket, count, function(body)
    local id, number = pair(body)
    found[#found + 1] = { id = id, number = number }
  end)
  return found
end

-- 1 to 500; what is no number is 1.
local function wanted()
  local text = ngx.var.arg_q or ""
  local number = text:match("^%d+$") and tonumber(text) or 1
  return math.min(math.max(number, 1), QUERIES_MAX)
end

local function row(world)
  return '{"id":' .. world.id .. ',"randomNumber":' .. world.number .. "}"
end

local function array(found)
  local rows = {}
  for at = 1, #found do
    rows[at] = row(found[at])
  end
  ngx.print("[", concat(rows, ","), "]")
end

-- With a connection, which goes back when nothing failed.
local function with(work)
  local socket = connect()
  local ok, result = pcall(work, socket)
  if not ok then
    socket:close()
    error(result, 0)
  end
  assert(socket:setkeepalive(IDLE_MS))
  return result
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local handlers = {}

function handlers.configure(place, size)
  database = place
  -- More requests than connections wait for one.
  options = { pool = "world", pool_size = size, backlog = WAITING_MAX }
end

function handlers.db()
  ngx.print(row(with(function(socket)
    return worlds(socket, 1)
  end)[1]))
end

function handlers.queries()
  local count = wanted()
  array(with(function(socket)
    return worlds(socket, count)
  end))
end

function handlers.updates()
  local count = wanted()
  array(with(function(socket)
    local once, found, ids, numbers = {}, {}, {}, {}
    for _, world in ipairs(worlds(socket, count)) do
      if not once[world.id] then
        once[world.id] = true
        found[#found + 1] = world
      end
    end
    -- In one order everywhere: statements of several connections must not wait for each other in a circle.
    table.sort(found, function(a, b)
      return tonumber(a.id) < tonumber(b.id)
    end)
    for at, world in ipairs(found) do
      world.number = format("%d", random(ROWS))
      ids[at], numbers[at] = world.id, world.number
    end
    assert(socket:send(ask("write", "{" .. concat(ids, ",") .. "}", "{" .. concat(numbers, ",") .. "}")))
    ready(socket, 1)
    return found
  end))
end

function handlers.fortunes()
  local found = with(function(socket)
    local rows = {}
    assert(socket:send(ask("fortunes")))
    ready(socket, 1, function(body)
      local id, text = pair(body)
      rows[#rows + 1] = { id = id, message = text }
    end)
    return rows
  end)
  found[#found + 1] = { id = "0", message = "Additional fortune added at request time." }
  table.sort(found, function(a, b)
    return a.message < b.message
  end)
  local page = { "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>" }
  for _, fortune in ipairs(found) do
    page[#page + 1] = "<tr><td>" .. fortune.id .. "</td><td>" .. fortune.message:gsub("[&<>\"']", ENTITIES) .. "</td></tr>"
  end
  page[#page + 1] = "</table></body></html>"
  ngx.print(page)
end

return handlers
