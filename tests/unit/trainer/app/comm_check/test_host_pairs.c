#include "tests/support/unit.h"
#include "trainer/app/comm_check/host_pairs.h"

#include <string.h>

static void every_host_meets_every_other_once(void) {
    enum { MOST = 33 };
    for (int hosts = 2; hosts <= MOST; hosts++) {
        int met[MOST][MOST];
        memset(met, 0, sizeof(met));
        for (int round = 0; round < host_pairs_rounds(hosts); round++)
            for (int host = 0; host < hosts; host++) {
                const int partner = host_pairs_partner(hosts, round, host);
                CU_ASSERT_FATAL(partner >= -1 && partner < hosts && partner != host);
                if (partner < 0)
                    continue;
                CU_ASSERT_EQUAL(host_pairs_partner(hosts, round, partner), host);
                met[host][partner]++;
            }
        for (int a = 0; a < hosts; a++)
            for (int b = 0; b < hosts; b++)
                CU_ASSERT_EQUAL(met[a][b], a != b);
    }
}

static void rounds_are_as_few_as_can_be(void) {
    CU_ASSERT_EQUAL(host_pairs_rounds(1), 0);
    CU_ASSERT_EQUAL(host_pairs_rounds(2), 1);
    CU_ASSERT_EQUAL(host_pairs_rounds(3), 3);
    CU_ASSERT_EQUAL(host_pairs_rounds(8), 7);
}

UNIT_SUITE("app.comm_check.host_pairs", UNIT(every_host_meets_every_other_once),
           UNIT(rounds_are_as_few_as_can_be))
