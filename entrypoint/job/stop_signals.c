#include "entrypoint/job/stop_signals.h"

#include "common/signal_name.h"
#include "common/str.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

enum { SECONDS_MAX = 86400, NAME_SIZE = 16 };

bool stop_signals_has(int64_t number) {
    return number > 0 && number < NSIG && signal_name((int)number) != NULL && number != SIGKILL &&
           number != SIGSTOP && number != SIGCHLD;
}

int stop_signals_parse(const char *value, int *ret, struct error *err) {
    int64_t number = 0;
    bool is_number = isdigit((unsigned char)value[0]) != 0;
    if (is_number && str_parse_int(value, 1, NSIG - 1, &number, err) != 0)
        return -1;
    if (!is_number)
        number = signal_number(value);
    if (!stop_signals_has(number))
        return error_set(err, EXIT_CODE_CONFIG,
                         "\"%.32s\" is no signal that a program can handle; give a name or number "
                         "such as TERM, SIGUSR1 or 10",
                         value);
    *ret = (int)number;
    return 0;
}

int stop_signals_parse_warning(const char *value, struct stop_warning *ret, struct error *err) {
    char name[NAME_SIZE];
    const char *at = strchr(value, '@');
    struct stop_warning parsed = {.seconds = STOP_SIGNALS_WARN_SECONDS};
    size_t size = at != NULL ? (size_t)(at - value) : strlen(value);
    if (size >= sizeof(name))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.32s\" is not a signal and seconds: USR1@60",
                         value);
    (void)snprintf(name, sizeof(name), "%.*s", (int)size, value);
    if (stop_signals_parse(name, &parsed.number, err) != 0 ||
        (at != NULL && str_parse_int(at + 1, 1, SECONDS_MAX, &parsed.seconds, err) != 0))
        return -1;
    *ret = parsed;
    return 0;
}

bool stop_signals_reach_children(int number) {
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

json_t *stop_signals_warning_json(const struct stop_warning *warning) {
    if (warning->number == 0)
        return json_null();
    return json_sprintf("%s@%" PRId64, signal_name(warning->number), warning->seconds);
}
