# Time formats and their reading, as CRuby has them. Not what differs on purpose. Every line of output is compared.
require "time"
t = Time.at(1706664896, 789012).utc
p t.strftime("%Y-%m-%d %H:%M:%S.%L %N %3N %6N %z %:z %::z %Z %j %a %A %b %B %y %C %e %-d %-m %k %l %I %p %P %u %w %s %%")
p t.strftime("%F %T %D %R %r %c %x %X %v %U %W %V %G %g %n%t|"), t.strftime("%10Y|%-H|%_m|%05d|%^a|%#p|%^B|%10A|%010e|%-I|%_H|%3S"), t.strftime("%Q %! é"), t.strftime("%h")
p Time.gm(2021, 1, 3, 4, 5, 6).strftime("%V %G %U %W %u %w %e|%l|%k|%-j"), Time.gm(2020, 12, 31).strftime("%V %G"), Time.gm(2018, 12, 31).strftime("%V %G %j"), Time.gm(2000, 1, 1, 0).strftime("%I %p %l")
p t.iso8601, t.iso8601(3), t.xmlschema, t.httpdate, t.utc_offset, t.nsec, t.utc?, t.year, t.yday
p Time.iso8601("2024-01-31T01:34:56Z").to_i, Time.parse("2024-01-31T10:34:56.5+09:00").to_f, Time.parse("2024-01-31 01:34:56 UTC").to_i, Time.iso8601("2024-01-31T01:34:56-05:30").to_i
begin; Time.iso8601("nope"); rescue ArgumentError; puts "ArgumentError"; end
p (Time.at(10) - Time.at(3)), (Time.at(10) + 5).to_i, Time.at(1) < Time.at(2), Time.at(1.5).usec, Time.gm(2024, 2, 29).month, t.monday?, t.wday, Time.now.is_a?(Time), t.to_i, t.round.to_i, t == Time.at(1706664896, 789012)
p [Time.at(3), Time.at(1)].min.to_i, (Time.gm(2024, 1, 1)..Time.gm(2024, 2, 1)).include?(Time.gm(2024, 1, 15))
