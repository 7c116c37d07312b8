/* What hosts tell each other of a job that may lose its first host: {"join": ..., "order": ...,
 * "number": 2}, a host's join as the next master reads it, and an order that commits a view.
 * Whatever is accepted names only hosts that the job has, and gives no right that it did not have
 * before. */
#include "common/json/json.h"
#include "entrypoint/host/failover/role_state.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 5 };

static void check_view(const struct view *v) {
    CHECK(v->number >= 1 && v->number <= INT32_MAX && v->master < HOSTS);
    CHECK(host_set_has(&v->hosts, v->master));
    for (size_t i = HOSTS; i < CLUSTER_HOSTS_MAX; i++)
        CHECK(!host_set_has(&v->hosts, i));
}

static void check_quorum(const struct quorum *l) {
    CHECK(l->accepted_count <= QUORUM_ACCEPTED_MAX);
    check_view(&l->committed);
    for (size_t i = 0; i < l->accepted_count; i++) {
        check_view(&l->accepted[i]);
        CHECK(l->accepted[i].number > l->committed.number);
    }
    CHECK(quorum_last(l)->number >= l->committed.number);
}

/* Checks that at most one of two parts that share no host has the right to go on. */
static void check_rights(const struct quorum *l) {
    for (uint64_t part = 0; part < UINT64_C(1) << HOSTS; part++) {
        const struct host_set one = {.words = {part}};
        const struct host_set other = {.words = {~part & ((UINT64_C(1) << HOSTS) - 1)}};
        CHECK(!quorum_allows(l, &one) || !quorum_allows(l, &other));
    }
    int next = quorum_next_master(l, 0);
    CHECK(next >= -1 && next < HOSTS);
    CHECK(next < 0 || host_set_has(&quorum_last(l)->hosts, (size_t)next));
}

static void try_again(const struct quorum *l) {
    struct quorum again;
    json_t *copy = quorum_json(l);
    CHECK(copy != NULL && quorum_parse(copy, HOSTS, &again, NULL) == 0);
    CHECK(again.accepted_count == l->accepted_count &&
          again.committed.number == l->committed.number);
    CHECK(again.lost == l->lost);
    json_decref(copy);
}

static void try_order(struct role_state *s, const json_t *object) {
    json_int_t number = json_integer_value(json_object_get(object, "number"));
    bool settled = number >= 0 && number <= INT32_MAX &&
                   role_state_commit_view(s, (unsigned)number, json_object_get(object, "order"));
    CHECK(!settled || (s->begun && s->quorum.committed.number == (unsigned)number));
    check_quorum(&s->quorum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cluster_host hosts[HOSTS] = {{.slots = 1}};
    struct job job = {.settings = {.failover = true, .restarts = 3},
                      .cluster = {.hosts = hosts, .count = HOSTS, .self = 1}};
    struct role_state s;
    struct quorum sent;
    struct error err = {0};
    char run[ATTEMPT_RUN_SIZE];
    int64_t quiet = 0;
    json_t *object = NULL;
    if (json_parse((const char *)data, size, "words", &object, NULL) != 0)
        return 0;
    CHECK(role_state_open(&s, &job, NULL) == 0);
    if (role_state_parse(json_object_get(object, "join"), HOSTS, run, &sent, &quiet, &err) == 0) {
        CHECK(quiet >= 0 && memchr(run, '\0', sizeof(run)) != NULL);
        check_quorum(&sent);
        check_rights(&sent);
        try_again(&sent);
        quorum_learn(&s.quorum, &sent);
        check_quorum(&s.quorum);
    } else
        CHECK(err.text[0] != '\0');
    try_order(&s, object);
    const char *why = NULL;
    if (role_state_may_follow(&s, &job, &why)) {
        role_state_follow(&s, &job);
        CHECK(s.master < HOSTS && job.cluster.self < HOSTS && !job.cluster.hosts[0].gone);
    }
    CHECK(why != NULL);
    role_state_close(&s);
    json_decref(object);
    return 0;
}
