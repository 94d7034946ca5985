//! What one command of Redis cannot do and must not be done halfway: scripts that the server runs as one step. Sends nothing.
//! Rule: a script looks at everything before it changes anything, so that an error of it has changed nothing; it names each key that it touches.

use std::sync::LazyLock;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// A script and the name by which a server knows it once it has run it.
pub(super) struct Script {
    pub(super) text: &'static str,
    sha1: LazyLock<String>,
}

impl Script {
    /// Forty hexadecimal digits.
    pub(super) fn sha1(&self) -> &str {
        &self.sha1
    }
}

macro_rules! script {
    ($name:ident, $does:literal, $text:literal) => {
        #[doc = $does]
        pub(super) static $name: Script = Script {
            text: $text,
            sha1: LazyLock::new(|| hexadecimal($text)),
        };
    };
}

/// Redis names a script so; nothing is kept secret or proven by it.
fn hexadecimal(text: &str) -> String {
    let sha1 = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    sha1.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

script!(
    APPEND,
    "Arguments: what is added, what comes between, the longest value.",
    "
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SET', KEYS[1], ARGV[1])
  return {'done'}
end
local length = redis.call('STRLEN', KEYS[1]) + #ARGV[2] + #ARGV[1]
if length > tonumber(ARGV[3]) then return {'long', length} end
redis.call('APPEND', KEYS[1], ARGV[2] .. ARGV[1])
return {'done'}
"
);

script!(
    INCREMENT,
    "Arguments: what is added and what it is added to where there is none, both as eight bytes; `1` only reads. Lua's numbers have 53 bits, so bytes are added.",
    "
local there = redis.call('GET', KEYS[1])
if there and #there ~= 8 then return {'other', #there} end
local before = there or ARGV[2]
if ARGV[3] == '1' then return {'number', before} end
local sum, carry = '', 0
for at = 8, 1, -1 do
  local byte = before:byte(at) + ARGV[1]:byte(at) + carry
  carry = byte > 255 and 1 or 0
  sum = string.char(byte % 256) .. sum
end
redis.call('SET', KEYS[1], sum, 'KEEPTTL')
return {'number', sum}
"
);

script!(
    EXCHANGE,
    "Arguments: kind and value of what is expected, kind, value and milliseconds of what is desired.",
    "
local there = redis.call('GET', KEYS[1])
local fits = there == ARGV[2]
if ARGV[1] == 'absent' then fits = not there elseif ARGV[1] == 'any' then fits = there and true end
if not fits then return {'mismatch', there} end
if ARGV[3] == 'put' and ARGV[5] == '' then
  redis.call('SET', KEYS[1], ARGV[4])
elseif ARGV[3] == 'put' then
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
elseif ARGV[3] == 'remove' then
  redis.call('DEL', KEYS[1])
end
return {'exchanged', there}
"
);

script!(
    EXCHANGE_MULTI,
    "Keys: those of what is expected, then those of what is desired. Arguments: how many of the former, then of each in order as those of EXCHANGE.",
    "
local expected, at = tonumber(ARGV[1]), 2
for number = 1, expected do
  local there = redis.call('GET', KEYS[number])
  local fits = there == ARGV[at + 1]
  if ARGV[at] == 'absent' then fits = not there elseif ARGV[at] == 'any' then fits = there and true end
  if not fits then return {'mismatch'} end
  at = at + 2
end
for number = expected + 1, #KEYS do
  if ARGV[at] == 'put' and ARGV[at + 2] == '' then
    redis.call('SET', KEYS[number], ARGV[at + 1])
  elseif ARGV[at] == 'put' then
    redis.call('SET', KEYS[number], ARGV[at + 1], 'PX', ARGV[at + 2])
  elseif ARGV[at] == 'remove' then
    redis.call('DEL', KEYS[number])
  end
  at = at + 3
end
return {'done'}
"
);

script!(
    TOUCH,
    "Argument: milliseconds; nothing stands for ever.",
    "
if redis.call('EXISTS', KEYS[1]) == 0 then return {'missing'} end
if ARGV[1] == '' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return {'done'}
"
);

script!(
    REKEY,
    "Keys: the old one, the new one. Arguments: `absent` where a record with the new key stays, `copy` where the one with the old key does.",
    "
if redis.call('EXISTS', KEYS[1]) == 0 then return {'missing'} end
if ARGV[1] == 'absent' then
  local there = redis.call('GET', KEYS[2])
  if there then return {'duplicate', there} end
end
if KEYS[1] == KEYS[2] then return {'done'} end
if ARGV[2] == 'copy' then
  redis.call('COPY', KEYS[1], KEYS[2], 'REPLACE')
else
  redis.call('RENAME', KEYS[1], KEYS[2])
end
return {'done'}
"
);

script!(
    PUBLISH,
    "Key: a channel. Arguments: a message, and the command that sends it. Without flags, so that only a server that takes writes runs it.",
    "#!lua
redis.call(ARGV[2], KEYS[1], ARGV[1])
return {'done'}
"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_script_is_the_sha1_of_its_text() {
        // The first vector of FIPS 180.
        assert_eq!(
            hexadecimal("abc"),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert_eq!(APPEND.sha1(), hexadecimal(APPEND.text));
    }
}
