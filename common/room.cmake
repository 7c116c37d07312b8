# The rooms that both programs share, bottom up. Other rooms use all of them: common/*.
room(common LINKS m)
room(common/binary USES common)
room(common/file USES common)
room(common/system USES common common/file)
room(common/json USES common common/file)
# json.h exposes jansson's values, so its users need that header, too.
target_link_libraries(common_json PUBLIC PkgConfig::jansson)
room(common/text USES common)
# Parts of HTML pages about runs: text and numbers, axes, the style sheet.
room(common/html USES common LINKS m)
room(common/log USES common common/file common/system common/json common/text)
# Connections, without the protocols on them.
room(common/net USES common common/binary common/file)
# Processes that a job's ranks start, on all ranks or on some.
room(common/slots USES common common/file common/net common/json common/system common/log)
# Plans of trials, their results, the choice of those that continue, and how they run in slots.
room(common/trials USES common common/file common/json common/html common/log common/slots LINKS m)
# Throughput by number of ranks, and conclusions from it.
room(common/scaling USES common common/file common/json common/html common/log LINKS m)
