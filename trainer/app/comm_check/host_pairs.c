#include "trainer/app/comm_check/host_pairs.h"

/* The circle method: one host stays, all others move on by one place each round. An odd number of
 * hosts is one less than an even one, and the missing host's partner rests. */
static int even(int hosts) {
    return hosts + hosts % 2;
}

int host_pairs_rounds(int hosts) {
    return hosts > 1 ? even(hosts) - 1 : 0;
}

int host_pairs_partner(int hosts, int round, int host) {
    const int ring = even(hosts) - 1; /* places that move; the last host stays */
    int partner = 0;
    if (host == ring) {
        /* The place that meets itself, 2 p = ROUND, meets the host that stays. */
        partner = round % 2 == 0 ? round / 2 : (round + ring) / 2;
    } else {
        partner = ((round - host) % ring + ring) % ring;
        partner = partner == host ? ring : partner;
    }
    return partner < hosts ? partner : -1;
}
