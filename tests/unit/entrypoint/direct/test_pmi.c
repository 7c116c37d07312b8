#include "entrypoint/direct/pmi.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct pmi p;
static struct buf answer;

static void begin(void) {
    p = (struct pmi){.size = 4, .name = "kvs_run_1", .mapping = "(vector,(0,2,2))"};
    buf_init(&answer, (size_t)4 * PMI_LINE_MAX);
}

static void end(void) {
    pmi_done(&p);
    buf_done(&answer);
}

static enum pmi_next say(const char *line) {
    buf_consume(&answer, answer.size);
    return pmi_line(&p, line, strlen(line), &answer);
}

static void expect(const char *line, const char *text) {
    CU_ASSERT_EQUAL(say(line), PMI_ANSWERED);
    CU_ASSERT_STRING_EQUAL(buf_text(&answer), text);
}

/* Requests of Debian's MPICH 4.0.2 in MPI_Init and MPI_Finalize, and its own launcher's answers. */
static void mpich_gets_the_answers_that_it_expects(void) {
    begin();
    expect("cmd=init pmi_version=1 pmi_subversion=1",
           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    expect("cmd=get_maxes", "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=1024\n");
    expect("cmd=get_appnum", "cmd=appnum appnum=0\n");
    expect("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_run_1\n");
    expect("cmd=get_universe_size", "cmd=universe_size size=4\n");
    expect("cmd=get kvsname=kvs_run_1 key=PMI_process_mapping",
           "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
    expect("cmd=put kvsname=kvs_run_1 key=-bcast-1-0 value=2F64 65",
           "cmd=put_result rc=0 msg=success\n");
    expect("cmd=finalize", "cmd=finalize_ack\n");
    end();
}

static void pairs_of_others_come_with_a_barrier(void) {
    struct error err = {0};
    begin();
    expect("cmd=get kvsname=x key=theirs",
           "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    expect("cmd=put kvsname=x key=ours value=1 2", "cmd=put_result rc=0 msg=success\n");
    expect("cmd=get kvsname=x key=ours", "cmd=get_result rc=0 msg=success value=1 2\n");
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&p.fresh, "ours"), "1 2");
    CU_ASSERT_EQUAL(say("cmd=barrier_in"), PMI_BARRIER);
    CU_ASSERT_EQUAL(answer.size, 0);
    CU_ASSERT_EQUAL(say("cmd=get kvsname=x key=ours"), PMI_BROKEN); /* it waits at the barrier */
    CU_ASSERT_EQUAL(say("cmd=barrier_in"), PMI_BROKEN);
    CU_ASSERT_EQUAL(pmi_space_put(&p.space, "theirs", "3", &err), 0);
    pmi_pass(&p, &answer);
    CU_ASSERT_STRING_EQUAL(buf_text(&answer), "cmd=barrier_out\n");
    expect("cmd=get kvsname=x key=theirs", "cmd=get_result rc=0 msg=success value=3\n");
    buf_consume(&answer, answer.size);
    pmi_pass(&p, &answer); /* nobody waits */
    CU_ASSERT_EQUAL(answer.size, 0);
    end();
}

static void what_is_not_offered_is_an_error_of_the_client(void) {
    begin();
    expect("mcmd=spawn", "cmd=spawn_result rc=-1 msg=not_offered\n");
    expect("cmd=publish_name service=s port=p", "cmd=publish_result rc=-1 msg=not_offered\n");
    expect("cmd=put kvsname=x key=k", "cmd=put_result rc=-1 msg=refused\n");
    expect("cmd=get kvsname=x", "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    expect("cmd=abort exitcode=1", "");
    p.mapping[0] = '\0';
    expect("cmd=get kvsname=x key=PMI_process_mapping",
           "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    end();
}

static void other_lines_break_the_protocol(void) {
    static const char *const bad[] = {"", "hello", "cmd", "cmd=", "cmd=nothing", "xcmd=init"};
    char line[PMI_LINE_MAX + 2];
    begin();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(say(bad[i]), PMI_BROKEN);
    memset(line, 'c', sizeof(line));
    CU_ASSERT_EQUAL(pmi_line(&p, line, sizeof(line) - 1, &answer), PMI_BROKEN);
    CU_ASSERT_EQUAL(pmi_line(&p, "cmd=init\0x", 10, &answer), PMI_BROKEN);
    end();
}

static void expect_mapping(const unsigned *slots, size_t count, size_t gone, const char *text) {
    struct cluster_host hosts[8] = {0};
    const struct cluster c = {.hosts = hosts, .count = count};
    char mapping[PMI_MAPPING_SIZE];
    for (size_t i = 0; i < count; i++)
        hosts[i] = (struct cluster_host){.slots = slots[i], .gone = i == gone};
    pmi_mapping(&c, mapping);
    CU_ASSERT_STRING_EQUAL(mapping, text);
}

static void hosts_of_as_many_slots_are_one_block(void) {
    expect_mapping((const unsigned[]){2, 2, 2}, 3, 9, "(vector,(0,3,2))");
    expect_mapping((const unsigned[]){2, 2, 1, 2}, 4, 9, "(vector,(0,2,2),(2,1,1),(3,1,2))");
    expect_mapping((const unsigned[]){2, 1, 2}, 3, 1, "(vector,(0,2,2))");
    expect_mapping((const unsigned[]){1, 2, 2}, 3, 0, "(vector,(0,2,2))");
    expect_mapping((const unsigned[]){2, 2, 1}, 3, 2, "(vector,(0,2,2))");
}

static void a_mapping_without_room_is_not_offered(void) {
    static struct cluster_host hosts[200];
    const struct cluster c = {.hosts = hosts, .count = 200};
    char mapping[PMI_MAPPING_SIZE];
    for (size_t i = 0; i < 200; i++)
        hosts[i].slots = 1 + (unsigned)i % 2;
    pmi_mapping(&c, mapping);
    CU_ASSERT_STRING_EQUAL(mapping, "");
}

static void a_program_is_told_its_socket_and_place(void) {
    cleanup_argv struct argv environment = {0};
    CU_ASSERT_EQUAL(pmi_environment(7, 2, 4, &environment, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "PMI_FD"), "7");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "PMI_RANK"), "2");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "PMI_SIZE"), "4");
}

UNIT_SUITE("direct.pmi", UNIT(mpich_gets_the_answers_that_it_expects),
           UNIT(pairs_of_others_come_with_a_barrier),
           UNIT(what_is_not_offered_is_an_error_of_the_client),
           UNIT(other_lines_break_the_protocol), UNIT(hosts_of_as_many_slots_are_one_block),
           UNIT(a_mapping_without_room_is_not_offered),
           UNIT(a_program_is_told_its_socket_and_place))
