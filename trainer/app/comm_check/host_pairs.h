/* Pairs of hosts in rounds: in a round every host has at most one partner, so that all pairs of it
 * can be tested at once, and after all rounds each host has met every other once. */
#ifndef TRAINER_APP_COMM_CHECK_HOST_PAIRS_H
#define TRAINER_APP_COMM_CHECK_HOST_PAIRS_H

/* Returns the number of rounds for HOSTS hosts. */
int host_pairs_rounds(int hosts);
/* Returns the partner of HOST in ROUND, both from 0; -1: none. */
int host_pairs_partner(int hosts, int round, int host);

#endif
