#include "common/slots/slot_orders.h"

#include "common/argv.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/slots/slot_environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rank 0 appends to lists in s->orders, and slots.c broadcasts them once a round. All ranks get all
 * orders, and each picks the slots that are its own by own_of(). The order of a slice carries
 * everything that its ranks must agree on: port, folder, words. What differs from rank to rank is
 * computed by each rank from the addresses that all of them know (place_of).
 *
 * Orders come from rank 0 of the same job, so their members are not checked for their types. Words
 * of a user are checked where they enter, by array_of() and add_environment(). */

/* The longest name of a variable, with its NUL; values have no limit. */
enum { SLOT_VARIABLE_SIZE = 256 };

static const int64_t GRACE = SLOTS_GRACE_SECONDS * CLOCK_SECOND;

/* The orders of a round without any: all ranks only report. */
json_t *slot_orders_new(void) {
    return json_pack("{s:[], s:[], s:b}", "start", "end", "leave", 0);
}

/* Takes ORDER over, also on failure. NULL stands for a pack that found no memory. */
static int add(struct slots *s, const char *list, json_t *order, struct error *err) {
    return order == NULL || json_array_append_new(json_object_get(s->orders, list), order) != 0
               ? error_no_memory(err, "orders")
               : 0;
}

/* An array of WORDS, which may be NULL; NULL if one is not UTF-8. */
static json_t *array_of(const char *const *words, struct error *err) {
    json_t *array = json_array();
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        if (json_array_append_new(array, json_string(words[i])) != 0) {
            json_decref(array);
            (void)error_set(err, EXIT_CODE_USAGE, "'%.64s' is not UTF-8", words[i]);
            return NULL;
        }
    return array;
}

/* The port is the one that the slice's first slot offered in the last round (struct slot_report).
 * json_pack() takes both arrays over, even if it fails. */
int slot_orders_start(struct slots *s, const struct slot_job *job, struct error *err) {
    json_t *argv = array_of(job->argv, err);
    json_t *environment = argv != NULL ? array_of(job->environment, err) : NULL;
    if (environment == NULL) {
        json_decref(argv);
        return -1;
    }
    return add(s, "start",
               json_pack("{s:i, s:i, s:i, s:s, s:s, s:o, s:o}", "first", job->first, "size",
                         job->size, "port", (int)s->reports[job->first].port, "folder", job->folder,
                         "name", job->name, "argv", argv, "environment", environment),
               err);
}

/* An end for slots that run nothing is harmless: slot_child_end() asks only a running process. */
int slot_orders_end(struct slots *s, int first, int size, struct error *err) {
    return add(s, "end", json_pack("[i, i]", first, size), err);
}

/* Only a flag: whatever else is ordered in the same round is carried out before the ranks leave. */
int slot_orders_leave(struct slots *s, struct error *err) {
    return json_object_set_new(s->orders, "leave", json_true()) != 0
               ? error_no_memory(err, "orders")
               : 0;
}

/* Every round of orders that does not end the job has another after it. */
bool slot_orders_wait(const json_t *orders) {
    return !json_is_true(json_object_get(orders, "leave"));
}

/* 0 for a member that is missing, which slot_orders_start() never leaves out. */
static int number_of(const json_t *order, const char *key) {
    return (int)json_integer_value(json_object_get(order, key));
}

/* Each rank has own_count slots in a row, and one address. */
static const char *address_of(const struct slots *s, int slot) {
    return s->addresses[slot / s->own_count];
}

/* The place of SLOT in the slice of ORDER; DEVICES backs its text. Slots of a host are beside each
 * other in a slice, but a host may hold the end of one slice and the start of another. Local ranks
 * count from the first slot of this slice here, and devices from the first slot of the host. */
static struct slot_place place_of(const struct slots *s, const json_t *order, int slot,
                                  char devices[SLOT_DEVICES_SIZE]) {
    const int first = number_of(order, "first"), size = number_of(order, "size");
    const char *here = address_of(s, slot);
    bool spread = false;
    int local_first = -1, local_last = -1;
    for (int i = first; i < first + size; i++) {
        if (strcmp(address_of(s, i), here) != 0) {
            spread = true;
            continue;
        }
        local_first = local_first < 0 ? i : local_first;
        local_last = i;
    }
    /* The first slot of this host, of whatever slice: devices are numbered from it on. */
    int host_first = local_first;
    while (host_first > 0 && strcmp(address_of(s, host_first - 1), here) == 0)
        host_first--;
    devices[0] = '\0';
    if (s->gpus > 0)
        slot_devices(getenv("CUDA_VISIBLE_DEVICES"), local_first - host_first,
                     local_last - host_first, devices);
    return (struct slot_place){.rank = slot - first,
                               .size = size,
                               .local_rank = slot - local_first,
                               .local_size = local_last - local_first + 1,
                               .address = spread ? address_of(s, first) : "127.0.0.1",
                               .port = number_of(order, "port"),
                               .job = json_string_value(json_object_get(order, "name")),
                               .devices = devices,
                               .always = s->foreign};
}

/* Sets each NAME=VALUE of LIST. NAME=VALUE is split, because argv_set_env() replaces an earlier
 * setting of the same name. */
static int add_environment(struct argv *environment, const json_t *list, struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        char name[SLOT_VARIABLE_SIZE];
        const char *word = json_string_value(json_array_get(list, i));
        const size_t size = strcspn(word, "=");
        if (word[size] == '\0' || size >= sizeof(name))
            return error_set(err, EXIT_CODE_USAGE, "'%.64s' is no variable", word);
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, word);
        if (argv_set_env(environment, name, word + size + 1, err) != 0)
            return -1;
    }
    return 0;
}

/* Each rank makes the folder by itself, since hosts need not share a file system. The folder is
 * kept in `folders`, from which the results are read after the end. */
static int start(struct slots *s, const json_t *order, int slot, int own, struct error *err) {
    char devices[SLOT_DEVICES_SIZE], output[PATH_MAX];
    cleanup_argv struct argv argv = {0}, environment = {0};
    const json_t *words = json_object_get(order, "argv");
    const char *folder = json_string_value(json_object_get(order, "folder"));
    const struct slot_place place = place_of(s, order, slot, devices);
    for (size_t i = 0; i < json_array_size(words); i++)
        if (argv_add(&argv, json_string_value(json_array_get(words, i)), err) != 0)
            return -1;
    if (snprintf(output, sizeof(output), "%s/rank-%d.log", folder, place.rank) >=
        (int)sizeof(output))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    (void)snprintf(s->folders[own], sizeof(s->folders[own]), "%s", folder);
    s->reads[own] = place.rank == 0;
    if (file_make_dirs(folder, err) != 0 ||
        slot_environment(&environment, environ, &place, err) != 0 ||
        add_environment(&environment, json_object_get(order, "environment"), err) != 0)
        return -1;
    return slot_child_start(&s->own[own], argv.items, environment.items, output, s->foreign, err);
}

/* Writes the slots of this rank that lie in a slice to RET_FROM .. RET_TO - 1, counted from its own
 * first slot. RET_FROM >= RET_TO: the slice lies on other ranks. Both ends are cut to the own
 * slots, because a slice may reach over the borders of ranks. */
static void own_of(const struct slots *s, int first, int size, int *ret_from, int *ret_to) {
    const int mine = s->group->rank * s->own_count;
    *ret_from = first > mine ? first - mine : 0;
    *ret_to = first + size - mine < s->own_count ? first + size - mine : s->own_count;
}

/* A process that cannot be started is reported like one that ended at once. The other ranks of its
 * slice then fail or are ended by rank 0, and the job continues. */
static void start_all(struct slots *s, const json_t *order) {
    const int mine = s->group->rank * s->own_count;
    int from = 0, to = 0;
    own_of(s, number_of(order, "first"), number_of(order, "size"), &from, &to);
    for (int i = from; i < to; i++) {
        struct error err = {0};
        s->mine[i] = (struct slot_report){.state = SLOT_RUNNING};
        s->reads[i] = false;
        if (start(s, order, mine + i, i, &err) == 0)
            continue;
        log_error("%s", err.text);
        s->mine[i].state = SLOT_ENDED;
        s->mine[i].code = (int)err.code;
    }
}

/* Ends come first, so that a slice can be ended and used again by orders of one round. */
void slot_orders_follow(struct slots *s, const json_t *orders) {
    size_t i = 0;
    const json_t *order = NULL;
    const json_t *starts = json_object_get(orders, "start"), *ends = json_object_get(orders, "end");
    for (i = 0; i < json_array_size(ends); i++) {
        int from = 0, to = 0;
        order = json_array_get(ends, i);
        own_of(s, (int)json_integer_value(json_array_get(order, 0)),
               (int)json_integer_value(json_array_get(order, 1)), &from, &to);
        for (int k = from; k < to; k++)
            slot_child_end(&s->own[k], GRACE);
    }
    for (i = 0; i < json_array_size(starts); i++)
        start_all(s, json_array_get(starts, i));
    s->left = json_is_true(json_object_get(orders, "leave"));
}
