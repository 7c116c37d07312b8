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
# Throughput over numbers of ranks, and what follows from it.
room(common/scaling USES common common/file common/json common/html LINKS m)
# Plans of trials, their results, and which of them go on.
room(common/trials USES common common/file common/json common/html LINKS m)
room(common/log USES common common/file common/system common/json common/text)
