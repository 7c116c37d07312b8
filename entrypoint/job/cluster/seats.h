/* Seats of a job with spare hosts: which host runs which ranks.
 *
 * A job of N hosts with n spares has N - n seats, each with the ranks of one host. A host without a
 * seat is a spare: it is a member of the job like any other and runs no rank. When a host is lost,
 * a spare takes its seat, so that the ranks of all others keep their numbers. Without a spare the
 * seat stays empty, and the ranks behind it move up.
 *
 * Pure. The master alone gives seats and sends them with the attempt; at the start all hosts number
 * them alike. */
#ifndef ENTRYPOINT_JOB_CLUSTER_SEATS_H
#define ENTRYPOINT_JOB_CLUSTER_SEATS_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the last COUNT hosts of C spares. None is left for ranks: an error. */
int seats_open(struct cluster *c, size_t count, struct error *err);

/* Returns how many seats there are: all hosts but the spares that the job began with. */
size_t seats_count(const struct cluster *c);
/* Returns how many present spares wait. */
size_t seats_spares_left(const struct cluster *c);

/* Gives the seats of hosts that are gone to spares that are not, those with as many slots first.
 * FIRST_LEADS: the first host gets the first seat, from the host that has it. */
void seats_fill(struct cluster *c, bool first_leads);

/* Returns the seats for an order, owned by the caller: pairs of a host and its seat. */
json_t *seats_json(const struct cluster *c);
/* Reads the hosts of an attempt from its ORDER: those in "gone" are lost and no others, as the
 * master may have readmitted a host that this one believes lost. In a job with spares those that
 * are not in "seats" are spares. */
void seats_read(struct cluster *c, const json_t *order);

#endif
