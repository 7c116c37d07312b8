#include "entrypoint/job/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All hosts of a job run this code on their own platform's description, and must arrive at the same
 * order without a word to each other. So names are sorted, equal names are refused, and a master
 * that the platform names must be in the list.
 *
 * While the job is read, hosts that are no part of it are taken out (cluster_keep). From then on
 * the array keeps its hosts and their order: lost hosts and spares only get a flag, as messages
 * between hosts name them by index.
 *
 * Ranks are not stored. They follow from the order of the hosts that run ranks and from their
 * slots, so that every host numbers them alike after a loss, too. */

/* Also for a cluster that was zeroed, or made in part. */
void cluster_done(struct cluster *c) {
    free(c->hosts);
    json_decref(c->resource_config);
    *c = (struct cluster){0};
}

/* Natural order: node-2 comes before node-10 (host_name.h). */
static int compare_hosts(const void *a, const void *b) {
    const struct cluster_host *first = a;
    const struct cluster_host *second = b;
    return host_name_compare(&first->name, &second->name);
}

/* Equal hosts are neighbours, because the list is in natural order. Two hosts of one name would
 * both claim its place. */
static int check_duplicates(const struct cluster *c, struct error *err) {
    for (size_t i = 1; i < c->count; i++)
        if (host_name_equal(&c->hosts[i - 1].name, &c->hosts[i].name))
            return error_set(err, EXIT_CODE_CONFIG,
                             "the host \"%s\" is listed twice; expected each host once",
                             c->hosts[i].name.text);
    return 0;
}

/* An empty list is an error here, and not a job of one host: the platform has said that there are
 * others. */
static int take_hosts(const struct platform_description *d, struct cluster *ret,
                      struct error *err) {
    if (d->count == 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the list of hosts is empty; expected one host or more");
    ret->hosts = calloc(d->count, sizeof(*ret->hosts));
    if (ret->hosts == NULL)
        return error_no_memory(err, "the list of hosts");
    ret->count = d->count;
    for (size_t i = 0; i < d->count; i++)
        ret->hosts[i] = (struct cluster_host){.name = d->hosts[i].name, .slots = d->hosts[i].slots};
    qsort(ret->hosts, ret->count, sizeof(*ret->hosts), compare_hosts);
    return check_duplicates(ret, err);
}

/* WHAT is the role of the missing host, for the message, which lists those that are there as far as
 * they fit. */
static int refuse_absent(const struct cluster *c, const char *what, const struct host_name *name,
                         struct error *err) {
    char listed[HOST_NAME_LIST_SIZE] = "";
    for (size_t i = 0; i < c->count; i++)
        host_name_list(listed, sizeof(listed), &c->hosts[i].name);
    return error_set(err, EXIT_CODE_CONFIG, "%s, \"%s\", is not in the list of hosts (%s)", what,
                     name->text, listed);
}

/* Moves the platform's master to the front, if the platform names one. The hosts before it move up
 * by one place, and keep their order. */
static int put_master_first(const struct platform_description *d, struct cluster *ret,
                            struct error *err) {
    if (d->master.text[0] == '\0')
        return 0;
    int index = cluster_find(ret, &d->master);
    if (index < 0)
        return refuse_absent(ret, "the master", &d->master, err);
    struct cluster_host master = ret->hosts[index];
    memmove(ret->hosts + 1, ret->hosts, (size_t)index * sizeof(*ret->hosts));
    ret->hosts[0] = master;
    return 0;
}

/* A host that is not in the list cannot take part: no other host would wait for it. */
static int find_self(const struct platform_description *d, struct cluster *ret, struct error *err) {
    int index = cluster_find(ret, &d->self);
    if (index < 0)
        return refuse_absent(ret, "this host", &d->self, err);
    ret->self = (size_t)index;
    return 0;
}

/* Checks the job's name, which other programs use in logs and file names. */
static int take_job(const char *job, struct cluster *ret, struct error *err) {
    /* Also the place of the first byte that is not allowed. */
    size_t good = strspn(job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (job[0] == '\0' || job[good] != '\0' || good >= sizeof(ret->job))
        return error_set(err, EXIT_CODE_CONFIG,
                         "the job's name \"%.64s\" is not 1 to %d letters, digits, '.', '_' or "
                         "'-'",
                         job, CLUSTER_JOB_SIZE - 1);
    /* The NUL is copied, too. */
    memcpy(ret->job, job, good + 1);
    return 0;
}

/* Errors name the variable or file at fault, which differs: the list of hosts, or what says which
 * of them this host is. On failure *RET may hold hosts, which the caller frees. */
static int make(const struct platform_description *d, const char *job, struct cluster *ret,
                struct error *err) {
    const char *colon = d->where[0] != '\0' ? ": " : "";
    if (take_hosts(d, ret, err) != 0 || put_master_first(d, ret, err) != 0)
        return error_wrap(err, "%s%s%s", d->where, colon, d->hosts_key);
    if (find_self(d, ret, err) != 0)
        return error_wrap(err, "%s%s%s", d->where, colon, d->self_key);
    /* The name is wrong on its own, not by the platform's list. */
    if (take_job(job, ret, err) != 0)
        return -1;
    /* From here on nothing can fail. */
    ret->source = d->source;
    (void)snprintf(ret->described_by, sizeof(ret->described_by), "%.100s%s%s", d->where,
                   d->where[0] != '\0' ? ": " : "", d->hosts_key != NULL ? d->hosts_key : "");
    ret->master_named = d->master.text[0] != '\0';
    ret->counted = d->counted;
    ret->master_at = d->master_at;
    ret->grace = d->grace;
    ret->ends = d->ends;
    ret->before = d->before;
    ret->ends_with = d->ends_with;
    memcpy(ret->interface, d->interface, sizeof(ret->interface));
    memcpy(ret->instance_type, d->instance_type, sizeof(ret->instance_type));
    memcpy(ret->group, d->group, sizeof(ret->group));
    ret->resource_config = json_incref(d->resource_config);
    return 0;
}

int cluster_make(const struct platform_description *d, const char *job, struct cluster *ret,
                 struct error *err) {
    *ret = (struct cluster){0};
    if (make(d, job, ret, err) == 0)
        return 0;
    cluster_done(ret);
    return -1;
}

/* Names count as equal by host_name_equal(), not byte by byte. */
int cluster_find(const struct cluster *c, const struct host_name *name) {
    for (size_t i = 0; i < c->count; i++)
        if (host_name_equal(&c->hosts[i].name, name))
            return (int)i;
    return -1;
}

/* Spares are not counted: they run no ranks. */
size_t cluster_hosts_left(const struct cluster *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++)
        left += cluster_has_ranks(&c->hosts[i]);
    return left;
}

/* The size of the job: ranks have the numbers from 0 to one less. */
size_t cluster_ranks(const struct cluster *c) {
    size_t ranks = 0;
    for (size_t i = 0; i < c->count; i++)
        ranks += cluster_has_ranks(&c->hosts[i]) ? c->hosts[i].slots : 0;
    return ranks;
}

/* Sorts by insertion, as few hosts have a seat that is not their index's. A seat is only set where
 * there are spares (seats.h). */
size_t cluster_order(const struct cluster *c, size_t ret[CLUSTER_HOSTS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!cluster_has_ranks(&c->hosts[i]))
            continue;
        size_t at = count++;
        /* Without spares the order is that of the indices, whatever the seats say. */
        for (; c->spares > 0 && at > 0 && c->hosts[ret[at - 1]].seat > c->hosts[i].seat; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return count;
}

/* A spare is in no place of the order and gets the number after the last. */
size_t cluster_number(const struct cluster *c, size_t host) {
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    size_t number = 0;
    while (number < count && order[number] != host)
        number++;
    return number;
}

/* Without a host's own place in the order the sum runs over all ranks. */
size_t cluster_first_rank(const struct cluster *c, size_t host) {
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    size_t first = 0;
    for (size_t i = 0; i < count && order[i] != host; i++)
        first += c->hosts[order[i]].slots;
    return first;
}

/* A rank beyond the last counts as the last host's, so that the result is always an index. */
size_t cluster_host_of_rank(const struct cluster *c, size_t rank) {
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    for (size_t i = 0; i < count; i++) {
        if (rank < c->hosts[order[i]].slots)
            return order[i];
        rank -= c->hosts[order[i]].slots;
    }
    return count > 0 ? order[count - 1] : 0;
}

/* The host keeps its place in the array; only the order of ranks leaves it out. */
void cluster_drop(struct cluster *c, size_t host) {
    c->hosts[host].gone = true;
}

/* Lost hosts and spares count, too: they may run ranks again. */
unsigned cluster_most_slots(const struct cluster *c) {
    unsigned most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].slots > most)
            most = c->hosts[i].slots;
    return most;
}

/* 0 means that the platform has not said how many. */
void cluster_fill_slots(struct cluster *c, unsigned slots) {
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].slots == 0)
            c->hosts[i].slots = slots;
}

/* For a number of ranks that the user gives for all hosts alike. */
void cluster_set_slots(struct cluster *c, unsigned slots) {
    for (size_t i = 0; i < c->count; i++)
        c->hosts[i].slots = slots;
}

/* The loop moves hosts to the front in place; SELF is counted in the new order. */
void cluster_keep(struct cluster *c, const bool *kept) {
    size_t count = 0;
    size_t self = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (i == c->self)
            self = count;
        if (kept[i])
            c->hosts[count++] = c->hosts[i];
    }
    c->count = count;
    c->self = self;
}

/* Hosts fill up from the first on. A host without any rank is an error, as it would only wait for
 * the others. */
int cluster_limit_ranks(struct cluster *c, size_t ranks, struct error *err) {
    /* Processes that have no host yet. */
    size_t left = ranks;
    for (size_t i = 0; i < c->count; i++) {
        if (left == 0)
            return error_set(err, EXIT_CODE_CONFIG,
                             "%zu processes leave none for the host \"%s\": request more "
                             "processes, or fewer on each host",
                             ranks, c->hosts[i].name.text);
        /* Later hosts get what is left. */
        if (c->hosts[i].slots > left)
            c->hosts[i].slots = (unsigned)left;
        left -= c->hosts[i].slots;
    }
    if (left > 0)
        return error_set(err, EXIT_CODE_CONFIG, "%zu processes are more than the %zu of all hosts",
                         ranks, ranks - left);
    return 0;
}
