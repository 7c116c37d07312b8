#include "entrypoint/host/worker/worker_messages.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/net_address.h"
#include "entrypoint/host/preflight/host_info.h"
#include "entrypoint/host/ranks/rank_stillness.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void worker_send_join(struct supervisor *s, struct link *link) {
    struct host_info info;
    host_info_gather(s->job, &s->mpi_install, &info);
    json_t *message = message_new(MESSAGE_JOIN);
    cleanup_json json_t *members = host_info_json(&info);
    (void)json_object_set_new(message, "host", json_string(supervisor_own_name(s)));
    char address[NET_ADDRESS_TEXT];
    struct net_address own = link_own_address(link);
    net_address_text(&own, address);
    (void)json_object_set_new(message, "address", json_string(address));
    if (members != NULL)
        (void)json_object_update(message, members);
    if (s->check)
        (void)json_object_set_new(message, "examine_port",
                                  json_integer(supervisor_examine_port(s)));
    if (role_state_knows(s->role_state))
        (void)json_object_set_new(message, "succession", role_state_json(s->role_state));
    if (getpid() == 1)
        (void)json_object_set_new(message, "pid1", json_true());
    if (role_state_is_on(s->role_state) && s->role_state->saw_exit.seen)
        (void)json_object_set_new(message, "master_exit", role_state_exit_json(s->role_state));
    if (role_state_is_back(s->role_state))
        (void)json_object_set_new(message, "back", json_true());
    if (s->fault.code != 0) {
        (void)json_object_set_new(message, "fault_code", json_integer(s->fault.code));
        (void)json_object_set_new(message, "fault_text", json_string_any(s->fault.text));
    }
    link_send(link, message);
}

void worker_join(struct supervisor *s, struct link *link, const struct net_address *master) {
    char warning[INTERFACE_WARNING_SIZE] = "";
    if (s->fault.code == 0)
        (void)executor_meet_master(&s->host, master, master, warning, &s->fault);
    if (warning[0] != '\0')
        log_warning("%s", warning);
    worker_send_join(s, link);
}

void worker_send_fetching(const struct supervisor *s, struct link *link) {
    json_t *message = message_new(MESSAGE_FETCHING);
    (void)json_object_set_new(message, "host", json_string(supervisor_own_name(s)));
    fetch_progress_put(&s->mark, message);
    link_send(link, message);
}

void worker_answer_beat(struct supervisor *s, struct link *link, const json_t *beat) {
    json_t *message = message_new(MESSAGE_ALIVE);
    (void)json_object_set(message, "echo", json_object_get(beat, "time"));
    rank_saves_put(&s->host.rank_set, message);
    (void)json_object_set_new(message, "time", json_integer(clock_boot()));
    json_t *ranks = rank_set_pace(&s->host.rank_set);
    if (ranks != NULL) {
        (void)json_object_set_new(message, "attempt", json_integer(s->host.rank_set.attempt));
        (void)json_object_set_new(message, "ranks", ranks);
    }
    rank_stillness_put(&s->host.rank_set, message);
    link_send(link, message);
}

void worker_send_stop(struct link *link, bool again) {
    json_t *message = message_new(MESSAGE_STOP);
    (void)json_object_set_new(message, "again", json_boolean(again));
    link_send(link, message);
}

void worker_part_from_older(const struct supervisor *s, struct link *link, int64_t version) {
    char text[128];
    json_t *message = message_new_for(version, MESSAGE_JOIN);
    (void)snprintf(text, sizeof(text),
                   "it speaks version %d of the control link, the master version %lld: another "
                   "image build",
                   FRAME_VERSION, (long long)version);
    (void)json_object_set_new(message, "host", json_string(supervisor_own_name(s)));
    (void)json_object_set_new(message, "fault_code", json_integer(EXIT_CODE_CONFIG));
    (void)json_object_set_new(message, "fault_text", json_string_any(text));
    link_part(link, message);
}

void worker_take_above(struct supervisor *s, const json_t *message) {
    const char *text = json_string_value(json_object_get(message, "address"));
    struct net_address address;
    if (text != NULL && net_address_parse(text, &address))
        input_download_ask(&s->input_download, text);
}

/* The run ID must be safe, because it becomes part of a path. */
bool worker_read_run(const json_t *message, char ret[ATTEMPT_RUN_SIZE]) {
    const char *run = NULL;
    (void)json_member_string(message, message_type(message_kind(message)), "run", &run, NULL);
    if (run == NULL || strlen(run) != ATTEMPT_RUN_SIZE - 1 ||
        run[strspn(run, "0123456789abcdef")] != '\0')
        return false;
    (void)snprintf(ret, ATTEMPT_RUN_SIZE, "%s", run);
    return true;
}

void worker_read_refusal(const json_t *message, struct error *ret) {
    int64_t code = EXIT_CODE_CONFIG;
    const char *text = NULL;
    (void)json_member_int(message, "refuse", "code", &code, NULL);
    (void)json_member_string(message, "refuse", "text", &text, NULL);
    if (code < 1 || code > UINT8_MAX)
        code = EXIT_CODE_CONFIG;
    (void)error_set(ret, (enum exit_code)code, "%s",
                    text != NULL && text[0] != '\0' ? text : "no reason given");
}
