#include "entrypoint/master/members/duplicate_name.h"

#include "common/clock.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { HOSTS = 3 };

/* The first host of three, and another host with its name, in one loop. */
static struct cluster_host hosts[HOSTS];
static struct job job;
static struct member members[HOSTS];
static struct master m;
static unsigned raised[EVENT_COUNT];
static SSL_CTX *server;
static SSL_CTX *client;

/* The other one: where it is asked, what it answers, what it was told. */
static struct listener acceptor;
static const char *answer; /* NULL: none; "": it leaves */
static char asked_as[HOST_NAME_SIZE];
static struct link *silent;
/* The link on which it asks. */
static struct link *asking;
static json_t *question;
static struct error told;
static bool is_told;

static void note(struct master *master, const struct raised *what) {
    (void)master;
    raised[what->event]++;
}

static void on_signal(void *context, int number) {
    (void)context;
    (void)number;
    (void)reaper_run(&m.s.reaper);
}

/* The name of the first host is NAME. */
static void set_up(const char *name) {
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    sigset_t set;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    memset(raised, 0, sizeof(raised));
    memset(key, 1, sizeof(key));
    server = tls_context_new(key, 1, &err);
    client = tls_context_new(key, 0, &err);
    hosts[0] = (struct cluster_host){.slots = 1};
    hosts[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 1};
    hosts[2] = (struct cluster_host){.name = {"algo-3"}, .slots = 1};
    (void)snprintf(hosts[0].name.text, sizeof(hosts[0].name.text), "%s", name);
    job = (struct job){.settings = {.dead_seconds = 10, .ready_seconds = 60},
                       .cluster = {.hosts = hosts, .count = HOSTS, .job = "job"},
                       .ports = {.control = ports_own()}};
    m = (struct master){.s = {.job = &job, .contexts = {.tls = server, .client = client}},
                        .members = members,
                        .raise = note,
                        .fault_host = -1,
                        .accept = {.listener = {.watch = {.fd = -1}}}};
    for (size_t i = 0; i < HOSTS; i++)
        members[i] = (struct member){.master = &m, .index = i};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&m.s.loop, &set, on_signal, NULL, &err), 0);
}

static void tear_down(void) {
    duplicate_name_close(&m);
    listener_close(&acceptor);
    link_free(silent);
    link_free(asking);
    silent = asking = NULL;
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&m.s.loop);
    tls_context_free(server);
    tls_context_free(client);
}

/* --- the other one is asked --------------------------------------------------------------------
 */

static void heard(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static bool hung_up;

static void ended(void *context, const struct error *why) {
    (void)context;
    (void)why;
    hung_up = true;
    loop_end(&m.s.loop);
}

static const struct link_events quiet = {.message = heard, .closed = ended};

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    struct error why = {0};
    (void)context;
    (void)peer;
    (void)snprintf(asked_as, sizeof(asked_as), "%s",
                   json_string_value(json_object_get(message, "host")));
    CU_ASSERT_STRING_EQUAL(frame_type(message), "join");
    CU_ASSERT(json_is_true(json_object_get(message, "first")));
    CU_ASSERT(json_is_true(json_object_get(message, "astray"))); /* no interface has 127.0.0.9 */
    if (answer == NULL) {
        silent = link;
        link_own(link, &quiet, NULL);
        loop_after(&m.s.loop, &m.duplicate_name.deadline, CLOCK_SECOND / 2); /* as if it was near */
    } else if (answer[0] == '\0') {
        link_free(link);
    } else {
        (void)error_set(&why, EXIT_CODE_CONFIG, "%s", answer);
        master_refuse(link, FRAME_VERSION, &why);
    }
}

static const struct listener_events acceptor_events = {.arrived = arrived};

/* At ADDRESS, with the key or another one. */
static void other_listens(const char *address, bool same_key) {
    struct error err;
    struct net_address at = address_of(address);
    int listener = listener_listen(&at, job.ports.control, LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(listener >= 0);
    if (!same_key) {
        unsigned char key[TLS_KEY_SIZE];
        memset(key, 2, sizeof(key));
        tls_context_free(server);
        server = tls_context_new(key, 1, &err);
    }
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&acceptor, &m.s.loop, listener, server, &acceptor_events, NULL, &err), 0);
}

static void end_loop(void *context) {
    (void)context;
    loop_end(&m.s.loop);
}

static struct timer tick;

/* Until the first look is over, or it has led to something. */
static void look_whether_over(void *context) {
    (void)context;
    if (!m.duplicate_name.pending || raised[EVENT_DUPLICATE_NAME] > 0)
        loop_end(&m.s.loop);
    else
        loop_after(&m.s.loop, &tick, 10 * CLOCK_MILLISECOND);
}

static void look(void) {
    struct error err;
    struct timer limit = {.fire = end_loop};
    tick = (struct timer){.fire = look_whether_over};
    loop_after(&m.s.loop, &limit, 60 * CLOCK_SECOND);
    loop_after(&m.s.loop, &tick, 0);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
    CU_ASSERT(limit.active);
    loop_cancel(&m.s.loop, &limit);
    loop_cancel(&m.s.loop, &tick);
}

/* The connection of a host that was asked is not kept open. */
static void assert_hung_up(void) {
    struct timer limit = {.fire = end_loop};
    loop_after(&m.s.loop, &limit, 60 * CLOCK_SECOND);
    while (!hung_up && limit.active)
        CU_ASSERT_EQUAL_FATAL(loop_run(&m.s.loop, NULL), 0);
    CU_ASSERT(hung_up);
    loop_cancel(&m.s.loop, &limit);
}

static void open_and_look(void) {
    duplicate_name_open(&m);
    CU_ASSERT(m.duplicate_name.pending);
    look();
}

static void a_name_that_leads_here_alone_is_looked_up_once(void) {
    set_up("127.0.0.1");
    open_and_look();
    CU_ASSERT_FALSE(m.duplicate_name.pending);
    CU_ASSERT_FALSE(m.duplicate_name.misresolved);
    CU_ASSERT_FALSE(m.duplicate_name.again.active);
    CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
    tear_down();
}

static void a_name_that_leads_nowhere_is_looked_up_again(void) {
    set_up("no.such.host.invalid");
    open_and_look();
    CU_ASSERT_FALSE(m.duplicate_name.pending);
    CU_ASSERT(m.duplicate_name.again.active);
    CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
    tear_down();
}

static void who_was_there_before_is_obeyed(void) {
    set_up("127.0.0.9");
    other_listens("127.0.0.9", true);
    answer = "the name is that of another host";
    open_and_look();
    CU_ASSERT_STRING_EQUAL(asked_as, "127.0.0.9");
    CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 1);
    CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(m.fault_host, 0);
    CU_ASSERT_STRING_EQUAL(m.fault.text, "the name is that of another host");
    tear_down();
}

/* One that leaves, one with another key, one that says nothing, and none. */
static void whoever_else_is_there_is_no_reason_to_leave(void) {
    for (int i = 0; i < 4; i++) {
        set_up("127.0.0.9");
        if (i < 3)
            other_listens("127.0.0.9", i != 1);
        answer = i == 0 ? "" : NULL;
        hung_up = false;
        duplicate_name_open(&m);
        CU_ASSERT_FALSE(m.duplicate_name.misresolved); /* nobody knows yet */
        look();
        CU_ASSERT_FALSE(m.duplicate_name.pending);
        CU_ASSERT_PTR_NULL(m.duplicate_name.link);
        CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
        CU_ASSERT_EQUAL(silent != NULL, i == 2);
        if (i == 2)
            assert_hung_up();
        tear_down();
    }
}

static void where_no_way_to_itself_is_known_nobody_is_asked(void) {
    set_up("node-0");
    job.cluster.counted = true;
    duplicate_name_open(&m);
    CU_ASSERT_FALSE(m.duplicate_name.pending);
    (void)snprintf(job.cluster.master_at.text, sizeof(job.cluster.master_at.text), "127.0.0.1");
    open_and_look();
    CU_ASSERT_FALSE(m.duplicate_name.misresolved);
    tear_down();
}

/* --- the other one asks ------------------------------------------------------------------------
 */

static void met(void *context, struct link *link, const struct net_address *peer,
                const json_t *message) {
    (void)context;
    duplicate_name_met(&m, link, peer, message);
}

static const struct listener_events meeting = {.arrived = met};

static void can_ask(void *context) {
    (void)context;
    link_send(asking, question);
}

static void hears(void *context, const json_t *message) {
    (void)context;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "refuse");
    told.code = (enum exit_code)json_integer_value(json_object_get(message, "code"));
    (void)snprintf(told.text, sizeof(told.text), "%s",
                   json_string_value(json_object_get(message, "text")));
    is_told = true;
    loop_end(&m.s.loop);
}

static void hears_nothing(void *context, const struct error *why) {
    (void)context;
    CU_ASSERT_EQUAL(why->code, EXIT_CODE_HOST_LOST);
    loop_end(&m.s.loop);
}

static const struct link_events asking_events = {can_ask, hears, NULL, hears_nothing};

/* LIFE NULL: one that tells nothing of itself. */
static void ask(const char *life, int64_t began, bool first, bool misresolved) {
    struct error err;
    struct net_address at = address_of("127.0.0.1");
    int listener = listener_listen(&at, job.ports.control, LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&acceptor, &m.s.loop, listener, server, &meeting, NULL, &err), 0);
    is_told = false;
    told = (struct error){0};
    question =
        frame_with("join", json_pack("{s:s, s:s*, s:I, s:b, s:b}", "host", hosts[0].name.text,
                                     "life", life, "began", (json_int_t)began, "first", (int)first,
                                     "astray", (int)misresolved));
    asking = dial_address(&m.s.loop, &at, job.ports.control, client, &asking_events, NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(asking);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
}

/* This one has BEGAN at 1000, as "8". */
static void be(bool pending, size_t joined) {
    set_up("127.0.0.1");
    m.duplicate_name = (struct duplicate_name){.pending = pending, .began = 1000, .life = "8"};
    members[0].joined = true;
    m.join.count = 1 + joined;
}

static void who_comes_later_is_told_where_both_are(void) {
    static const struct {
        const char *life;
        int64_t began;
        size_t joined;
        bool pending;
        bool first;
        bool misresolved;
    } cases[] = {
        {"7", 900, 0, false, true, false},   /* its clock is slow: this one looked before */
        {"7", 1001, 0, true, true, false},   /* both look, and this one came first */
        {"9", 1000, 0, true, true, false},   /* at the same moment */
        {"7", 1001, 0, false, false, false}, /* both have looked */
        {"7", 900, 1, false, false, false},  /* a host has joined this one */
        {"7", 900, 0, true, false, true},    /* it was there before, and nobody finds it */
        {NULL, 0, 0, false, true, false},    /* of another build */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        be(cases[i].pending, cases[i].joined);
        ask(cases[i].life, cases[i].began, cases[i].first, cases[i].misresolved);
        CU_ASSERT(is_told);
        CU_ASSERT_EQUAL(told.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(told.text, "the name 127.0.0.1 is that of the host at 127.0.0.1, and this "
                                   "one is at 127.0.0.1");
        ASSERT_CONTAINS(told.text, "RINGMASTER_HOST");
        CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
        tear_down();
    }
}

static void who_came_first_is_obeyed_and_nobody_else_hears_of_it(void) {
    static const struct {
        const char *life;
        int64_t began;
        bool pending;
        bool lost; /* this one's name leads elsewhere */
        bool first;
        bool misresolved;
    } cases[] = {
        {"9", 2000, true, false, false, false}, /* it looked before */
        {"9", 999, true, false, true, false},   {"7", 1000, true, false, true, false},
        {"9", 999, false, false, false, false}, {"9", 2000, false, true, true, false},
        {"9", 999, false, true, false, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        be(cases[i].pending, 0);
        m.duplicate_name.misresolved = cases[i].lost;
        ask(cases[i].life, cases[i].began, cases[i].first, cases[i].misresolved);
        CU_ASSERT_FALSE(is_told);
        CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 1);
        CU_ASSERT_EQUAL(m.fault.code, EXIT_CODE_CONFIG);
        CU_ASSERT_EQUAL(m.fault_host, 0);
        ASSERT_CONTAINS(m.fault.text, "the name 127.0.0.1 is that of the host at 127.0.0.1");
        tear_down();
    }
}

static void once_the_job_runs_nothing_changes(void) {
    be(false, 0);
    m.phase = PHASE_RUNNING;
    ask("7", 1, false, false);
    CU_ASSERT(is_told);
    CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
    tear_down();
}

/* As where the name leads to a translated address of this host. */
static void a_way_back_to_itself_is_no_other(void) {
    be(true, 0);
    ask("8", 1000, true, false);
    CU_ASSERT(m.duplicate_name.self);
    CU_ASSERT_EQUAL(told.code, 0);
    CU_ASSERT_EQUAL(raised[EVENT_DUPLICATE_NAME], 0);
    tear_down();
}

UNIT_SUITE("master.duplicate_name", UNIT(a_name_that_leads_here_alone_is_looked_up_once),
           UNIT(a_name_that_leads_nowhere_is_looked_up_again), UNIT(who_was_there_before_is_obeyed),
           UNIT(whoever_else_is_there_is_no_reason_to_leave),
           UNIT(where_no_way_to_itself_is_known_nobody_is_asked),
           UNIT(who_comes_later_is_told_where_both_are),
           UNIT(who_came_first_is_obeyed_and_nobody_else_hears_of_it),
           UNIT(once_the_job_runs_nothing_changes), UNIT(a_way_back_to_itself_is_no_other))
