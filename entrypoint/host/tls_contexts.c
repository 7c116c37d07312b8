#include "entrypoint/host/tls_contexts.h"

#include "common/log/log.h"
#include "entrypoint/host/provision/input_download.h"
#include "entrypoint/wire/tls.h"

static int make(struct tls_contexts *c, struct role_state *s, bool master, const struct key *key,
                struct error *err) {
    c->owned = s == NULL || !s->returns;
    if (c->owned) {
        c->tls = tls_context_new(key->bytes, master, err);
        c->client = master && c->tls != NULL ? tls_context_new(key->bytes, false, err) : NULL;
        return c->tls != NULL && (!master || c->client != NULL) ? 0 : -1;
    }
    s->client = tls_context_new(key->bytes, false, err);
    s->server = tls_context_new(key->bytes, true, err);
    c->tls = master ? s->server : s->client;
    c->client = s->client;
    return s->client != NULL && s->server != NULL ? 0 : -1;
}

int tls_contexts_open(struct tls_contexts *c, const struct job *job, struct role_state *role_state,
                      struct error *err) {
    _Static_assert(sizeof(((struct key *)NULL)->bytes) == TLS_KEY_SIZE, "one key, whole");
    struct key key = {0};
    const struct key_places usual = {0};
    const struct cluster *cluster = &job->cluster;
    bool master = cluster_is_master(cluster);
    bool alone = cluster->count == 1;
    *c = (struct tls_contexts){0};
    if (role_state_is_again(role_state))
        c->tls = master ? role_state->server : role_state->client;
    if ((alone && !job->settings.require_key) || c->tls != NULL)
        return 0;
    if (key_make(&job->settings, cluster, &usual, &key, err) != 0)
        return -1;
    if (key.source == KEY_FROM_SEED)
        log_warning(
            "the control link's key comes from the image (%s), which keeps out only those who "
            "cannot pull it; set a better one with RINGMASTER_KEY or RINGMASTER_KEY_FILE",
            key.place);
    if (cluster->before > 0)
        log_info("the platform has started this job again (restart %u): hosts of earlier attempts "
                 "have another key",
                 cluster->before);
    int made = alone ? 0 : make(c, role_state, master, &key, err);
    if (made == 0 && input_download_passes_on(job))
        made = key_for(&key, "what hosts pass on", c->pass_key, err);
    key_done(&key);
    return made;
}

void tls_contexts_close(struct tls_contexts *c) {
    if (c->owned) {
        tls_context_free(c->tls);
        tls_context_free(c->client);
    }
}
