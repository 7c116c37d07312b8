/* Names and numbers of signals, without the C library: musl has no sigabbrev_np. */
#ifndef COMMON_SIGNAL_NAME_H
#define COMMON_SIGNAL_NAME_H

#include <signal.h>
#include <stddef.h>
#include <string.h>

/* Returns the name without "SIG", such as "TERM"; NULL for a number without one, such as a
 * real-time signal. */
static inline const char *signal_name(int number) {
#define NAME(name) [SIG##name] = #name
    static const char *const names[] = {
        NAME(HUP),  NAME(INT),    NAME(QUIT), NAME(ILL),  NAME(TRAP),   NAME(ABRT), NAME(BUS),
        NAME(FPE),  NAME(KILL),   NAME(USR1), NAME(SEGV), NAME(USR2),   NAME(PIPE), NAME(ALRM),
        NAME(TERM), NAME(STKFLT), NAME(CHLD), NAME(CONT), NAME(STOP),   NAME(TSTP), NAME(TTIN),
        NAME(TTOU), NAME(URG),    NAME(XCPU), NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH),
        NAME(POLL), NAME(PWR),    NAME(SYS)};
#undef NAME
    if (number <= 0 || (size_t)number >= sizeof(names) / sizeof(names[0]))
        return NULL;
    return names[number];
}

/* Returns the number of the signal with this NAME, with or without "SIG"; 0: there is none. */
static inline int signal_number(const char *name) {
    static const char prefix[] = "SIG";
    if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
        name += sizeof(prefix) - 1;
    for (int number = 1; number < NSIG; number++)
        if (signal_name(number) != NULL && strcmp(signal_name(number), name) == 0)
            return number;
    return 0;
}

#endif
