#include "entrypoint/transfer/peers/sharing.h"

#include "common/clock.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_SIZE = 1024, DESCRIPTOR_MAX = 1 << 20, PATIENCE_MAX = 86400 };

static int read_key(const char *text, unsigned char ret[TLS_KEY_SIZE]) {
    size_t size = 0;
    if (text == NULL || OPENSSL_hexstr2buf_ex(ret, TLS_KEY_SIZE, &size, text, '\0') != 1)
        return -1;
    return size == TLS_KEY_SIZE ? 0 : -1;
}

static int parse(struct sharing *p, const json_t *sharing, int64_t *listener, struct error *err) {
    static const char where[] = "the order's sharing";
    const char *key = NULL;
    struct peer_client *peer = &p->peer;
    peer->patience = 1;
    if (json_member_int(sharing, where, "listener", listener, err) != 0 ||
        json_member_string(sharing, where, "key", &key, err) != 0 ||
        json_member_string(sharing, where, "from", &peer->url, err) != 0 ||
        json_member_string(sharing, where, "name", &peer->name, err) != 0 ||
        json_member_bool(sharing, where, "first", &p->first, err) != 0 ||
        json_member_int(sharing, where, "patience", &peer->patience, err) != 0)
        return -1;
    if (read_key(key, peer->key) == 0 && *listener > 2 && *listener < DESCRIPTOR_MAX &&
        peer->patience > 0 && peer->patience <= PATIENCE_MAX &&
        (peer->url == NULL || peer->name != NULL))
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "%s lacks listener, key or name", where);
}

int sharing_open(struct sharing *p, const json_t *sharing, struct error *err) {
    int64_t listener = -1;
    *p = (struct sharing){0};
    if (parse(p, sharing, &listener, err) != 0 || catalog_open(&p->catalog, err) != 0)
        return -1;
    if (peer_server_open(&p->peer_server, (int)listener, p->peer.key, &p->catalog, err) == 0)
        return 0;
    catalog_done(&p->catalog);
    return -1;
}

void sharing_close(struct sharing *p) {
    peer_server_close(&p->peer_server);
    catalog_done(&p->catalog);
    OPENSSL_cleanse(p, sizeof(*p));
}

static void warn_of_peer(const struct sharing *p, const struct error *why,
                         void (*say)(const char *line)) {
    char line[LINE_MAX_SIZE];
    (void)snprintf(line, sizeof(line),
                   "warning: %s passes nothing on (%.600s): all else is fetched from its source",
                   p->peer.name, why->text);
    say(line);
}

bool sharing_has_peer(struct sharing *p, void (*say)(const char *line)) {
    struct error err = {0};
    if (p->peer.url == NULL || p->peer.lost)
        return false;
    if (!p->peer.met && peer_client_meet(&p->peer, &err) != 0)
        warn_of_peer(p, &err, say);
    return !p->peer.lost;
}

void sharing_lose_peer(struct sharing *p, const struct error *why, void (*say)(const char *line)) {
    if (!p->peer.lost)
        warn_of_peer(p, why, say);
    p->peer.lost = true;
}

void sharing_linger(int64_t deadline) {
    while (clock_now() < deadline)
        (void)poll(NULL, 0, clock_left_ms(deadline));
}
