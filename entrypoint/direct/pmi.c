#include "entrypoint/direct/pmi.h"

#include "common/table.h"

#include <stdio.h>
#include <string.h>

/* A program of MPICH's family writes one line for each request and waits for the answer. Fields are
 * NAME=VALUE, parted by blanks, in any order, except that a value put by the program comes last and
 * may hold blanks. Everything here is a function of the line and the state; the socket is in
 * rank_pmi.c.
 *
 * Two stores keep a barrier's promise: FRESH has what this rank has put since the last barrier, and
 * SPACE what all have put before it. The caller moves FRESH to SPACE on all hosts when the barrier
 * is complete, and then calls pmi_pass(). */

/* The one key that the launcher fills: MPICH finds out by it which ranks share a host. */
static const char mapping_key[] = "PMI_process_mapping";

/* Frees both stores; the structure itself and its socket are the caller's. */
void pmi_done(struct pmi *p) {
    pmi_space_done(&p->space);
    pmi_space_done(&p->fresh);
}

/* Copies the value of NAME in "NAME=VALUE NAME=VALUE ..."; one that is LAST holds blanks and
 * reaches to the end of the line. */
static bool read_field(const char *line, const char *name, bool last, char *ret, size_t room) {
    size_t front = strlen(name);
    for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (strncmp(at, name, front) == 0 && at[front] == '=') {
            size_t value = last ? strlen(at) - front - 1 : size - front - 1;
            if (value >= room)
                return false;
            memcpy(ret, at + front + 1, value);
            ret[value] = '\0';
            return true;
        }
        at += size;
    }
    return false;
}

/* A key or value that is too long, or a full space, is refused by rc=-1, on which the program gives
 * up. */
static enum pmi_next answer_put(struct pmi *p, const char *line, struct buf *answer) {
    char key[PMI_KEY_MAX + 1];
    char value[PMI_VALUE_MAX + 1];
    struct error err = {0};
    bool good = read_field(line, "key", false, key, sizeof(key)) &&
                read_field(line, "value", true, value, sizeof(value)) &&
                pmi_space_put(&p->fresh, key, value, &err) == 0;
    (void)buf_printf(answer, NULL, "cmd=put_result rc=%d msg=%s\n", good ? 0 : -1,
                     good ? "success" : "refused");
    return PMI_ANSWERED;
}

/* What all know comes first, then what only this rank has put. */
static enum pmi_next answer_get(const struct pmi *p, const char *line, struct buf *answer) {
    char key[PMI_KEY_MAX + 1];
    const char *value = NULL;
    if (read_field(line, "key", false, key, sizeof(key))) {
        value = strcmp(key, mapping_key) != 0 ? pmi_space_get(&p->space, key)
                : p->mapping[0] != '\0'       ? p->mapping
                                              : NULL;
        if (value == NULL)
            value = pmi_space_get(&p->fresh, key);
    }
    if (value != NULL)
        (void)buf_printf(answer, NULL, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        (void)buf_printf(answer, NULL, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    return PMI_ANSWERED;
}

/* Requests without state. A command that PMI-1 does not have breaks the connection, as the program
 * would wait for an answer for ever. Those that are known and not offered get an error instead,
 * which a program can handle. */
static enum pmi_next answer_rest(const struct pmi *p, const char *command, struct buf *answer) {
    static const struct refusal {
        const char *command, *result;
    } refused[] = {{"spawn", "spawn_result"},
                   {"publish_name", "publish_result"},
                   {"unpublish_name", "unpublish_result"},
                   {"lookup_name", "lookup_result"}};
    const struct refusal *refusal = TABLE_FIND(refused, command, command);
    if (strcmp(command, "init") == 0)
        (void)buf_printf(answer, NULL,
                         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (strcmp(command, "get_maxes") == 0)
        (void)buf_printf(answer, NULL, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n",
                         PMI_NAME_SIZE, PMI_KEY_MAX, PMI_VALUE_MAX);
    else if (strcmp(command, "get_appnum") == 0)
        (void)buf_printf(answer, NULL, "cmd=appnum appnum=0\n");
    else if (strcmp(command, "get_my_kvsname") == 0)
        (void)buf_printf(answer, NULL, "cmd=my_kvsname kvsname=%s\n", p->name);
    else if (strcmp(command, "get_universe_size") == 0)
        (void)buf_printf(answer, NULL, "cmd=universe_size size=%u\n", p->size);
    else if (strcmp(command, "finalize") == 0)
        (void)buf_printf(answer, NULL, "cmd=finalize_ack\n");
    else if (refusal != NULL)
        (void)buf_printf(answer, NULL, "cmd=%s rc=-1 msg=not_offered\n", refusal->result);
    else if (strcmp(command, "abort") != 0) /* after that the program exits by itself */
        return PMI_BROKEN;
    return PMI_ANSWERED;
}

/* A rank that waits in a barrier has nothing to say: a line from it then is out of turn. NUL bytes
 * are refused, since fields are C strings. */
enum pmi_next pmi_line(struct pmi *p, const char *line, size_t size, struct buf *answer) {
    char text[PMI_LINE_MAX + 1];
    char command[PMI_KEY_MAX + 1];
    if (size > PMI_LINE_MAX || memchr(line, '\0', size) != NULL || p->waits)
        return PMI_BROKEN;
    memcpy(text, line, size);
    text[size] = '\0';
    /* A request to spawn has several lines: mcmd=spawn ... endcmd. */
    if (!read_field(text, "cmd", false, command, sizeof(command)) &&
        !read_field(text, "mcmd", false, command, sizeof(command)))
        return PMI_BROKEN;
    if (strcmp(command, "put") == 0)
        return answer_put(p, text, answer);
    if (strcmp(command, "get") == 0)
        return answer_get(p, text, answer);
    if (strcmp(command, "barrier_in") != 0)
        return answer_rest(p, command, answer);
    p->waits = true;
    return PMI_BARRIER;
}

void pmi_pass(struct pmi *p, struct buf *answer) {
    if (p->waits)
        (void)buf_printf(answer, NULL, "cmd=barrier_out\n");
    p->waits = false;
}

/* Appends a block of HOSTS with SLOTS each; its first one has the number FIRST. */
static size_t add_block(char ret[PMI_MAPPING_SIZE], size_t used, size_t first, size_t hosts,
                        unsigned slots) {
    if (hosts == 0 || used >= PMI_MAPPING_SIZE)
        return used;
    return used + (size_t)snprintf(ret + used, PMI_MAPPING_SIZE - used, ",(%zu,%zu,%u)", first,
                                   hosts, slots);
}

/* Hosts that follow each other with the same number of slots form one block: "(vector,(0,4,8))" is
 * four hosts with eight ranks each. Hosts that take no part are not numbered. */
void pmi_mapping(const struct cluster *c, char ret[PMI_MAPPING_SIZE]) {
    size_t used = (size_t)snprintf(ret, PMI_MAPPING_SIZE, "(vector");
    size_t number = 0; /* of a host among those that are left */
    size_t hosts = 0;  /* of the block */
    unsigned slots = 0;
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    for (size_t i = 0; i < count; i++) {
        if (hosts > 0 && c->hosts[order[i]].slots != slots) {
            used = add_block(ret, used, number - hosts, hosts, slots);
            hosts = 0;
        }
        slots = c->hosts[order[i]].slots;
        hosts++;
        number++;
    }
    used = add_block(ret, used, number - hosts, hosts, slots);
    if (used + 1 < PMI_MAPPING_SIZE)
        (void)snprintf(ret + used, PMI_MAPPING_SIZE - used, ")");
    else
        ret[0] = '\0';
}

/* Replaces a variable that the container may have from another launcher. */
static int set_number(struct argv *environment, const char *name, unsigned value,
                      struct error *err) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", value);
    return argv_set_env(environment, name, text, err);
}

/* FD is inherited by the program, and so it must not be close-on-exec there. */
int pmi_environment(int fd, unsigned rank, unsigned size, struct argv *environment,
                    struct error *err) {
    if (set_number(environment, "PMI_FD", (unsigned)fd, err) != 0 ||
        set_number(environment, "PMI_RANK", rank, err) != 0)
        return -1;
    return set_number(environment, "PMI_SIZE", size, err);
}
