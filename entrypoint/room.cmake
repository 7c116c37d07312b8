# The launcher's rooms, from the ground up; os and job do not know each other. Arrows go one way.
room(entrypoint/os USES common/*)
room(entrypoint/wire USES common/* entrypoint/os LINKS OpenSSL::SSL OpenSSL::Crypto)
if(RINGMASTER_ONE_FILE)
    # musl's macro for the next control message compares lengths of two kinds.
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/wire/passed_fds.c PROPERTIES
        COMPILE_OPTIONS -Wno-sign-compare)
endif()

# What fetches and sends is a program of its own, beside ringmaster: so that no other process of a
# job loads libcurl. It knows no job, and of other rooms only how the job's key makes TLS.
if(RINGMASTER_HAVE_SOURCES)
    # From the ground up: requests that are tried again, files of this machine; S3's rules; other hosts; and
    # on these, side by side, what comes and what goes.
    room(entrypoint/transfer/http USES common/* entrypoint/wire LINKS PkgConfig::curl)
    room(entrypoint/transfer/disk USES common/* LINKS OpenSSL::Crypto PkgConfig::archive)
    room(entrypoint/transfer/s3 USES common/* entrypoint/transfer/http entrypoint/transfer/disk LINKS
        OpenSSL::Crypto PkgConfig::curl PkgConfig::expat)
    room(entrypoint/transfer/peers USES common/* entrypoint/wire entrypoint/transfer/http
        entrypoint/transfer/disk
        LINKS OpenSSL::SSL OpenSSL::Crypto Threads::Threads PkgConfig::curl)
    room(entrypoint/transfer/fetch USES common/* entrypoint/transfer/http entrypoint/transfer/disk
        entrypoint/transfer/s3 entrypoint/transfer/peers LINKS PkgConfig::curl)
    room(entrypoint/transfer/upload USES common/* entrypoint/transfer/http entrypoint/transfer/disk
        entrypoint/transfer/s3 LINKS OpenSSL::Crypto PkgConfig::curl)
    room(entrypoint/transfer USES common/* entrypoint/transfer/disk entrypoint/transfer/s3
        entrypoint/transfer/peers entrypoint/transfer/fetch entrypoint/transfer/upload LINKS
        PkgConfig::curl
        EXCLUDE main.c)
    target_link_libraries(entrypoint_transfer PRIVATE PkgConfig::archive PkgConfig::expat)
    if(NOT RINGMASTER_ONE_FILE)
        add_executable(ringmaster-transfer ${CMAKE_CURRENT_LIST_DIR}/transfer/main.c)
        target_link_libraries(ringmaster-transfer PRIVATE entrypoint_transfer ringmaster_flags)
        install(TARGETS ringmaster-transfer)
    endif()
endif()

# What was asked, from the ground up: what this machine has; its hosts, as platforms name them; what SageMaker
# hands over; and the job.
room(entrypoint/job/machine USES common/*)
room(entrypoint/job/cluster USES common/* entrypoint/job/machine)
room(entrypoint/job/sagemaker USES common/* entrypoint/job/cluster)
room(entrypoint/job USES common/* entrypoint/job/machine entrypoint/job/cluster
    entrypoint/job/sagemaker LINKS OpenSSL::Crypto)
room(entrypoint/outcome USES common/* entrypoint/job/cluster entrypoint/job/sagemaker entrypoint/job
    LINKS PkgConfig::pcre2)
room(entrypoint/mpi USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job)
room(entrypoint/direct USES common/* entrypoint/os entrypoint/job/cluster entrypoint/job
    entrypoint/mpi)
# What a driver says of GPUs, for children alone.
room(entrypoint/gpu USES common/* entrypoint/os entrypoint/job LINKS ${CMAKE_DL_LIBS})
# What is gathered of ranks that hang or fail.
room(entrypoint/evidence USES common/* entrypoint/os entrypoint/gpu entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job)
# One container, from the ground up: what programs do; what a host leaves for people and machines, what it
# is, what it fetches and sends, its ranks, what outlives its master; its supervisor; and a worker.
room(entrypoint/host/monitor USES common/* entrypoint/os)
room(entrypoint/host/observe USES common/* entrypoint/os entrypoint/job entrypoint/outcome)
room(entrypoint/host/services)
room(entrypoint/host/preflight USES common/* entrypoint/os entrypoint/wire entrypoint/gpu
    entrypoint/job/machine entrypoint/job/cluster entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/host/services)
room(entrypoint/host/ranks USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/direct
    entrypoint/evidence entrypoint/host/services
    entrypoint/host/monitor entrypoint/host/observe)
room(entrypoint/host/provision USES common/* entrypoint/os entrypoint/wire entrypoint/job
    entrypoint/host/services entrypoint/host/ranks)
room(entrypoint/host/failover USES common/* entrypoint/os entrypoint/wire entrypoint/job
    entrypoint/outcome entrypoint/host/services)
room(entrypoint/host
    USES common/* entrypoint/os entrypoint/wire entrypoint/gpu entrypoint/job/machine entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/direct entrypoint/evidence
    entrypoint/host/services entrypoint/host/observe entrypoint/host/preflight entrypoint/host/ranks
    entrypoint/host/provision entrypoint/host/failover)
room(entrypoint/host/worker USES common/* entrypoint/os entrypoint/wire entrypoint/host/preflight
    entrypoint/host/failover entrypoint/host)
# The master, from the ground up: what it knows and its table of states; what `ringmaster check` does;
# the hosts that take part; how a job survives the loss of its master; and on top the rest.
room(entrypoint/master/state USES common/* entrypoint/os entrypoint/wire entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/host/observe entrypoint/host/preflight
    entrypoint/host)
room(entrypoint/master/preflight USES common/* entrypoint/os entrypoint/wire entrypoint/gpu
    entrypoint/outcome entrypoint/mpi entrypoint/host/preflight entrypoint/master/state)
room(entrypoint/master/members USES common/* entrypoint/wire entrypoint/job/cluster entrypoint/outcome
    entrypoint/host entrypoint/host/worker entrypoint/master/state)
room(entrypoint/master/failover USES common/* entrypoint/wire entrypoint/outcome
    entrypoint/master/state entrypoint/master/members)
room(entrypoint/master USES common/* entrypoint/os entrypoint/wire entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/host/observe entrypoint/host/preflight
    entrypoint/host entrypoint/host/worker entrypoint/master/state entrypoint/master/preflight
    entrypoint/master/members entrypoint/master/failover)
# Trials and scaling reports of any program, in ranks that the launcher has started.
room(entrypoint/study USES common/* LINKS m)
room(entrypoint/command
    USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine entrypoint/job
    entrypoint/outcome entrypoint/mpi entrypoint/host/observe entrypoint/host/preflight
    entrypoint/host/ranks entrypoint/host/provision entrypoint/host entrypoint/master)
room(entrypoint USES entrypoint/command entrypoint/study EXCLUDE main.c)

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/main.c)
    add_executable(ringmaster ${CMAKE_CURRENT_LIST_DIR}/main.c)
    target_link_libraries(ringmaster PRIVATE entrypoint ringmaster_flags)
    if(RINGMASTER_ONE_FILE)
        target_link_libraries(ringmaster PRIVATE entrypoint_transfer)
    endif()
    # A container starts it as `train`.
    add_custom_command(TARGET ringmaster POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink ringmaster train
        WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    install(TARGETS ringmaster)
    install(CODE "file(CREATE_LINK ringmaster \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/train SYMBOLIC)")
endif()
