#include "entrypoint/command/inner_command.h"

#include "common/exit_code.h"
#include "entrypoint/evidence/gather.h"
#include "entrypoint/evidence/ras_run.h"
#include "entrypoint/host/preflight/preflight_child.h"
#include "entrypoint/host/ranks/rank.h"
#include "entrypoint/mpi/agent.h"
#include "entrypoint/study/study.h"

#include <unistd.h>

int inner_command_study(const char *const *words, struct error *err) {
    return study_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

int inner_command_examine(const char *const *words, struct error *err) {
    return preflight_child_run(words, environ, err) == 0 ? EXIT_CODE_OK : -1;
}

int inner_command_gather(const char *const *words, struct error *err) {
    return gather_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

int inner_command_ras(const char *const *words, struct error *err) {
    return ras_run(words, err) == 0 ? EXIT_CODE_OK : -1;
}

int inner_command_rank(const char *const *words, struct error *err) {
    int code = -1;
    (void)words;
    return rank_run(environ, &code, err) == 0 ? code : -1;
}

int inner_command_agent(const char *const *words, struct error *err) {
    int code = -1;
    return agent_run(words, environ, &code, err) == 0 ? code : -1;
}
