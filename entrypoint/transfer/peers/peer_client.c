#include "entrypoint/transfer/peers/peer_client.h"

#include "common/str.h"
#include "entrypoint/transfer/http/exchange_pool.h"
#include "entrypoint/transfer/http/percent.h"

#include <string.h>

enum {
    MEET_TRIES = 1000, /* never reached: the time limit comes first */
    MEET_SILENCE = 10,
    MEET_ANSWER_MAX = 1024,
};

static int prepare_meeting(void *context, struct request *ret, struct error *err) {
    const struct peer_client *p = context;
    ret->method = "GET";
    ret->key = p->key;
    return buf_printf(&ret->url, err, "%s/", p->url);
}

int peer_client_meet(struct peer_client *p, struct error *err) {
    const struct question q = {.name = p->url,
                               .prepare = prepare_meeting,
                               .context = p,
                               .tries = MEET_TRIES,
                               .silence = MEET_SILENCE,
                               .seconds = p->patience};
    cleanup_buf struct buf nothing;
    buf_init(&nothing, MEET_ANSWER_MAX);
    p->met = true;
    p->lost = exchange_pool_ask(&q, &nothing, NULL, err) != 0;
    return p->lost ? -1 : 0;
}

int peer_client_prepare(const struct peer_client *p, const char *what, const char *path,
                        struct request *ret, struct error *err) {
    ret->method = "GET";
    ret->key = p->key;
    if (buf_printf(&ret->url, err, "%s/", p->url) != 0 || percent_add(&ret->url, what, err) != 0 ||
        buf_add_text(&ret->url, "/", err) != 0)
        return -1;
    return percent_add_path(&ret->url, path, err);
}

int peer_client_refused(struct peer_client *p, const struct answer *answer, struct error *err) {
    static const char front[] = "steps ";
    const char *words = buf_text(&answer->words);
    int64_t steps = 0;
    if (answer->status == PEER_CLIENT_NEVER)
        return error_set(err, EXIT_CODE_NOT_READY, "%s does not have it", p->name);
    if (answer->status != PEER_CLIENT_LATER || !str_starts_with(words, front) ||
        str_parse_int(words + strlen(front), 0, INT64_MAX, &steps, NULL) != 0)
        return -1;
    p->moves += (uint64_t)steps != p->steps;
    p->steps = (uint64_t)steps;
    return 0;
}
