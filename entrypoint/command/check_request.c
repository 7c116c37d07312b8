#include "entrypoint/command/check_request.h"

#include "common/cleanup.h"
#include "entrypoint/command/manual.h"

#include <string.h>

static int take_comm(const char *comm, struct check_request *ret, struct error *err) {
    if (ret->comm != NULL && strcmp(ret->comm, comm) != 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "check: --mpi and --nccl are two checks; run one after the other");
    ret->comm = comm;
    return 0;
}

/* Refuses what follows the options of a check that takes no more, or looks like one of them. */
static int check_rest(const struct check_request *r, struct error *err) {
    const char *word = r->words[0];
    if (manual_refuse_option("check", word, err) != 0)
        return -1;
    if (word == NULL || r->comm == NULL)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "unexpected %.128s: check --%s runs a program of its own, and takes no other "
                     "words but --json",
                     word, r->comm);
}

int check_request_read(const char *const *words, struct check_request *ret, struct error *err) {
    *ret = (struct check_request){0};
    for (; *words != NULL; words++) {
        const bool comm = strcmp(*words, "--mpi") == 0 || strcmp(*words, "--nccl") == 0;
        if (comm && take_comm(*words + strlen("--"), ret, err) != 0)
            return -1;
        ret->json = ret->json || strcmp(*words, "--json") == 0;
        if (!comm && strcmp(*words, "--json") != 0)
            break;
    }
    if (*words != NULL && ret->comm == NULL && strcmp(*words, "train") == 0)
        words++; /* the full command line that is checked */
    ret->words = words;
    return check_rest(ret, err);
}

int check_request_program(const struct check_request *request, struct argv *ret,
                          struct error *err) {
    cleanup_free char *trainer = job_trainer();
    const char *const words[] = {
        "--",     trainer != NULL ? trainer : "ringtrain", "check-comm", "--comm", request->comm,
        "--json", request->json ? "true" : "false",        NULL};
    return argv_add_all(ret, words, err);
}

void check_request_adapt(struct job *j) {
    j->bare_output = true;
    j->sources = (struct download_sources){0};
    j->settings.checkpoints = NULL;
    j->settings.output = NULL;
    j->settings.restarts = 0;
    j->settings.failover = false;
    j->settings.restart_codes = NULL;
}
