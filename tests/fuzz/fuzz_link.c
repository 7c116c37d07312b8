/* Messages that a peer with the key sends about the link itself: true and false acknowledgements.
 * The first byte is the number of messages that the link has sent before. The link stays up or
 * closes, and delivers no more messages than were sent. */
#include "common/json/json.h"
#include "entrypoint/wire/tls.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <signal.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGES_MAX = 64, TURNS = 8 };

static struct loop loop;
static struct link *ours;
static struct link *theirs;
static size_t heard; /* by our link's owner and by the peer */
static size_t opened_count;

static void opened(void *context) {
    (void)context;
    opened_count++;
}

static void message(void *context, const json_t *said) {
    (void)context;
    CHECK(frame_type(said) != NULL && strcmp(frame_type(said), "taken") != 0);
    heard++;
}

static void closed(void *context, const struct error *why) {
    struct link **link = context;
    CHECK(why->text[0] != '\0');
    link_free(*link);
    *link = NULL;
}

static const struct link_events events = {.opened = opened, .message = message, .closed = closed};

static void end_turn(void *context) {
    (void)context;
    loop_end(&loop);
}

static void turn(void) {
    struct timer timer = {.fire = end_turn};
    loop_after(&loop, &timer, 0);
    CHECK(loop_run(&loop, NULL) == 0);
    loop_cancel(&loop, &timer);
}

static SSL_CTX *context_of(int is_server) {
    static SSL_CTX *contexts[2];
    unsigned char key[TLS_KEY_SIZE] = {1};
    if (contexts[is_server] == NULL)
        contexts[is_server] = tls_context_new(key, is_server, NULL);
    CHECK(contexts[is_server] != NULL);
    return contexts[is_server];
}

static void meet(void) {
    int ends[2];
    (void)signal(SIGPIPE, SIG_IGN);
    CHECK(loop_init(&loop, NULL) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    opened_count = heard = 0;
    ours = link_new(&loop, ends[0], context_of(1), true, &events, &ours, NULL);
    theirs = link_new(&loop, ends[1], context_of(0), false, &events, &theirs, NULL);
    CHECK(ours != NULL && theirs != NULL);
    while (opened_count < 2)
        turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *said = NULL;
    size_t sent = 0;
    if (size == 0 || json_parse((const char *)data + 1, size - 1, "words", &said, NULL) != 0)
        return 0;
    check_without_log();
    meet();
    for (size_t i = data[0] % 16; i > 0; i--)
        link_send(ours, frame_new("beat"));
    sent += data[0] % 16;
    for (size_t i = 0; i < TURNS / 2; i++)
        turn();
    for (size_t i = 0; theirs != NULL && i < json_array_size(said) && i < MESSAGES_MAX; i++) {
        json_t *word = json_array_get(said, i);
        if (!json_is_object(word) || !frames_heard("link", word))
            continue;
        sent += strcmp(frame_type(word), "taken") != 0;
        link_send(theirs, json_incref(word));
    }
    for (size_t i = 0; i < TURNS; i++)
        turn();
    CHECK(heard <= sent);
    link_free(ours);
    link_free(theirs);
    loop_done(&loop);
    json_decref(said);
    return 0;
}
