# What both programs share, from the ground up. Other rooms use all of it: common/*.
room(common LINKS m)
room(common/binary USES common)
room(common/file USES common)
room(common/system USES common common/file)
room(common/json USES common common/file)
# json.h hands out jansson's values, so its users see that one header too.
target_link_libraries(common_json PUBLIC PkgConfig::jansson)
room(common/text USES common)
# Parts of pages about runs: text and numbers, axes, the style sheet.
room(common/html USES common LINKS m)
room(common/log USES common common/file common/system common/json common/text)
# Connections, before anything that is said on them.
room(common/net USES common common/binary common/file)
# Processes that the ranks of a job start, on all ranks or on some.
room(common/slots USES common common/file common/net common/json common/system common/log)
# Plans of trials, their results, which of them go on, and how they run in slots.
room(common/trials USES common common/file common/json common/html common/log common/slots LINKS m)
# Throughput over numbers of ranks, and what follows from it.
room(common/scaling USES common common/file common/json common/html common/log LINKS m)
