#include "entrypoint/host/monitor/kmsg.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct kmsg words;
static int kernel = -1;
static char got[512];

/* Reads from it return whole records, as with the kernel log. */
static void open_log(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    words = (struct kmsg){.fd = ends[0]};
    kernel = ends[1];
}

static void say(const char *record) {
    CU_ASSERT_EQUAL(send(kernel, record, strlen(record), 0), (ssize_t)strlen(record));
}

static void shut(void) {
    (void)close(kernel);
    kmsg_close(&words);
    CU_ASSERT_EQUAL(words.fd, -1);
    kmsg_close(&words);
}

static void what_explains_a_failure_is_picked_out(void) {
    open_log();
    say("6,1,100,-;eth0: link up\n");
    say("4,2,200,-;NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus.\n "
        "SUBSYSTEM=pci\n");
    say("6,3,300,-;python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n");
    say("3,4,400,-;Memory cgroup out of memory: Killed process 9 (python3)\n");
    say("2,5,500,-;mce: [Hardware Error]: CPU 0: Machine Check\n");
    kmsg_read(&words, false, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got,
                           "NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus.\n"
                           "mce: [Hardware Error]: CPU 0: Machine Check");
    shut();
}

/* A rank that gives up may report before the rank that caused it by crashing. */
static void who_fails_later_is_told_the_same(void) {
    open_log();
    say("6,1,1,-;python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n");
    say("4,2,2,-;NVRM: Xid (PCI:0000:41:00): 31, pid=7\n");
    kmsg_read(&words, false, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "NVRM: Xid (PCI:0000:41:00): 31, pid=7");
    say("3,3,3,-;Memory cgroup out of memory: Killed process 9 (python3)\n");
    kmsg_read(&words, true, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n"
                                "NVRM: Xid (PCI:0000:41:00): 31, pid=7");
    shut();
}

static void another_attempts_words_are_forgotten(void) {
    open_log();
    say("4,1,1,-;NVRM: Xid (PCI:0000:41:00): 31, pid=7\n");
    kmsg_read(&words, false, false, got, sizeof(got));
    say("4,2,2,-;NVRM: Xid (PCI:0000:41:00): 43, pid=7\n"); /* late: nobody had asked yet */
    kmsg_forget(&words);
    kmsg_read(&words, true, true, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "");
    say("4,3,3,-;NVRM: Xid (PCI:0000:41:00): 79, pid=8\n");
    kmsg_read(&words, false, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "NVRM: Xid (PCI:0000:41:00): 79, pid=8");
    shut();
    kmsg_forget(&words);
}

static void memory_that_could_not_be_corrected_counts_and_what_could_does_not(void) {
    open_log();
    say("4,1,1,-;EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0\n");
    say("4,2,2,-;EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0\n");
    say("3,3,3,-;Memory failure: 0x1f: Sending SIGBUS to a:7 due to hardware memory corruption\n");
    say("6,4,4,-;EDAC amd64: Node 0: DRAM ECC enabled.\n");
    kmsg_read(&words, false, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(
        got, "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0\n"
             "Memory failure: 0x1f: Sending SIGBUS to a:7 due to hardware memory corruption");
    shut();
}

static void lines_about_programs_count_where_they_can_be_about_this_one(void) {
    open_log();
    say("6,1,1,-;python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n");
    say("3,2,2,-;Memory cgroup out of memory: Killed process 9 (python3)\n");
    kmsg_read(&words, true, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so");
    kmsg_read(&words, false, true, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "Memory cgroup out of memory: Killed process 9 (python3)");
    shut();
}

static void lines_of_all_kinds_are_three_at_most(void) {
    open_log();
    say("6,1,1,-;python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n");
    say("6,2,2,-;python3[72]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n");
    say("3,3,3,-;Memory cgroup out of memory: Killed process 9 (python3)\n");
    say("4,4,4,-;NVRM: Xid (PCI:0000:41:00): 31, pid=7\n");
    kmsg_read(&words, true, true, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "python3[71]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n"
                                "python3[72]: segfault at 0 ip 0 sp 0 error 4 in libfoo.so\n"
                                "Memory cgroup out of memory: Killed process 9 (python3)");
    kmsg_read(&words, false, false, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "NVRM: Xid (PCI:0000:41:00): 31, pid=7");
    shut();
}

static void whatever_comes_has_a_ceiling(void) {
    static char record[8000];
    open_log();
    say("no numbers and no text");
    say(";");
    memset(record, 'x', sizeof(record) - 1);
    memcpy(record, "4,1,1,-;NVRM: Xid ", 18);
    for (int i = 0; i < 5; i++)
        say(record);
    kmsg_read(&words, true, true, got, sizeof(got));
    CU_ASSERT_EQUAL(strlen(got), 3 * 160 + 2);
    say(record);
    kmsg_read(&words, true, true, got, 100);
    CU_ASSERT_EQUAL(strlen(got), 99);
    shut();
}

static void what_is_no_kernel_log_is_not_read(void) {
    char path[600];
    static const char *const odd[] = {"/dev/null", "/dev/zero", "/no/such/log", "/proc/self/stat"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        kmsg_open(&words, odd[i]);
        CU_ASSERT_EQUAL(words.fd, -1);
        kmsg_read(&words, true, true, got, sizeof(got));
        CU_ASSERT_STRING_EQUAL(got, "");
    }
    (void)snprintf(path, sizeof(path), "%s/kmsg", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, "4,1,1,-;NVRM: Xid 79\n", 21, 0600, NULL), 0);
    kmsg_open(&words, path);
    CU_ASSERT_EQUAL(words.fd, -1);
}

UNIT_SUITE("host.kmsg", UNIT(who_fails_later_is_told_the_same),
           UNIT(another_attempts_words_are_forgotten), UNIT(what_explains_a_failure_is_picked_out),
           UNIT(memory_that_could_not_be_corrected_counts_and_what_could_does_not),
           UNIT(lines_about_programs_count_where_they_can_be_about_this_one),
           UNIT(lines_of_all_kinds_are_three_at_most), UNIT(whatever_comes_has_a_ceiling),
           UNIT(what_is_no_kernel_log_is_not_read))
