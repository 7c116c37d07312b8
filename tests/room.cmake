pkg_check_modules(cunit REQUIRED IMPORTED_TARGET cunit)

add_library(test_support STATIC tests/support/unit.c tests/support/unit_suites.c
    tests/support/lag.c tests/support/http_server.c)
target_include_directories(test_support PUBLIC ${TEST_INCLUDES})
target_link_libraries(test_support PUBLIC PkgConfig::cunit Threads::Threads PRIVATE
    ringmaster_flags)

# with_held_clock(TARGET): the tests of TARGET may hold the clock (tests/support/held_clock.h).
function(with_held_clock target)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/held_clock.c)
    target_link_options(${target} PRIVATE -Wl,--wrap=clock_gettime,--wrap=epoll_wait,--wrap=poll
        -Wl,--wrap=timerfd_create,--wrap=timerfd_settime)
endfunction()

# without_memory(TARGET): the tests of TARGET let allocations fail one by one
# (tests/support/no_memory.h).
function(without_memory target)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/no_memory.c
        ${CMAKE_SOURCE_DIR}/tests/support/no_memory_rows.c)
    target_link_options(${target} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
        -Wl,--wrap=aligned_alloc,--wrap=strdup,--wrap=strndup,--wrap=vasprintf,--wrap=asprintf)
endfunction()

room_tests(common USES common_log)
foreach(common_room binary file system json text html scaling trials net slots log)
    room_tests(common/${common_room} ALONE file folder_lock USES common_log)
endforeach()
room_tests(common FROM unit/support NAME unit_support ALONE lag_turn)
# The tests observe the order in which a file is written, synced and renamed.
target_link_options(unit_common_file_file PRIVATE
    -Wl,--wrap=fsync,--wrap=rename,--wrap=mkdir,--wrap=fchmod,--wrap=flock)
target_link_options(unit_common_file_folder_lock PRIVATE -Wl,--wrap=flock)

# These tests are about texts and scripts, which do not change under a sanitizer.
if(NOT RINGMASTER_SANITIZE)
    foreach(lint house shell format contract)
        add_test(NAME lint_${lint} COMMAND sh ${CMAKE_SOURCE_DIR}/tests/lint/${lint}.sh)
        set_tests_properties(lint_${lint} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    endforeach()
    add_test(NAME lint_commits COMMAND sh ${CMAKE_SOURCE_DIR}/tests/lint/test_commits.sh)
    set_tests_properties(lint_commits PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    foreach(lint tools words comments names width mutants mirror)
        add_test(NAME lint_${lint} COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/lint/${lint}.py)
        set_tests_properties(lint_${lint} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    endforeach()
    # Tests that the documentation's pages are true and readable.
    foreach(docs links form shell tested stopping pictures test_http_links)
        add_test(NAME docs_${docs} COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/docs/${docs}.py)
        set_tests_properties(docs_${docs} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    endforeach()
    add_test(NAME docs_spelling COMMAND sh ${CMAKE_SOURCE_DIR}/tests/docs/spelling.sh)
    set_tests_properties(docs_spelling PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    if(EXISTS ${CMAKE_SOURCE_DIR}/entrypoint/main.c AND RINGMASTER_HAVE_ENTRYPOINT)
        add_test(NAME docs_generated
            COMMAND sh ${CMAKE_SOURCE_DIR}/docs/generate.sh --check ${CMAKE_BINARY_DIR}/bin)
        add_test(NAME docs_names
            COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/docs/names.py ${CMAKE_BINARY_DIR}/bin)
        add_test(NAME docs_help
            COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/docs/help.py ${CMAKE_BINARY_DIR}/bin)
        set_tests_properties(docs_help PROPERTIES LABELS unit)
        add_test(NAME docs_blocks COMMAND ${computing}
            python3 ${CMAKE_SOURCE_DIR}/tests/docs/blocks.py ${CMAKE_BINARY_DIR}/bin)
        computes(docs_blocks)
        set_tests_properties(docs_blocks PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
        set_tests_properties(docs_generated docs_names PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    endif()
    add_test(NAME lint_circles COMMAND sh ${CMAKE_SOURCE_DIR}/tests/lint/circles.sh
        ${CMAKE_BINARY_DIR})
    set_tests_properties(lint_circles PROPERTIES LABELS unit)
    add_test(NAME cmake_kernel_report COMMAND sh
        ${CMAKE_SOURCE_DIR}/tests/cmake/test_kernel_report.sh)
    set_tests_properties(cmake_kernel_report PROPERTIES LABELS unit)
    add_test(NAME cmake_architecture COMMAND sh
        ${CMAKE_SOURCE_DIR}/tests/cmake/test_architecture.sh)
    set_tests_properties(cmake_architecture PROPERTIES LABELS unit TIMEOUT 600)
    foreach(brought packages fetch_onednn usage run_options)
        add_test(NAME docker_${brought} COMMAND sh
            ${CMAKE_SOURCE_DIR}/tests/docker/test_${brought}.sh)
        set_tests_properties(docker_${brought} PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE
            77)
    endforeach()
    add_test(NAME data_fetch COMMAND sh ${CMAKE_SOURCE_DIR}/tests/data/test_fetch.sh)
    set_tests_properties(data_fetch PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
    add_test(NAME venv COMMAND sh ${CMAKE_SOURCE_DIR}/tests/test_venv.sh)
    set_tests_properties(venv PROPERTIES LABELS unit TIMEOUT 300)
    # The package in sdk/, with SageMaker's SDK from PyPI.
    add_test(NAME sdk_package COMMAND sh ${CMAKE_SOURCE_DIR}/tests/sdk/run.sh)
    set_tests_properties(sdk_package PROPERTIES LABELS unit TIMEOUT 900 SKIP_RETURN_CODE 77)
    # A script of bench/ is tested with stubs of the programs that it starts.
    add_test(NAME bench_gpu_all COMMAND sh ${CMAKE_SOURCE_DIR}/tests/bench/test_gpu_all.sh)
    set_tests_properties(bench_gpu_all PROPERTIES LABELS unit TIMEOUT 300
        ENVIRONMENT RINGMASTER_BIN=${CMAKE_BINARY_DIR}/bin)
endif()
if(TARGET entrypoint)
    # The suites that are ALONE replace functions of the C library.
    room_tests(entrypoint/os ALONE child file_writer process_tree WAITS)
    foreach(entrypoint_room wire job outcome mpi evidence master study)
        room_tests(entrypoint/${entrypoint_room} WAITS)
    endforeach()
    foreach(holds unit_os unit_os_child unit_os_file_writer)
        with_held_clock(${holds})
    endforeach()
    with_held_clock(unit_wire)
    with_held_clock(unit_master)
    foreach(master_room state preflight members failover)
        room_tests(entrypoint/master/${master_room} USES entrypoint_master WAITS)
        with_held_clock(unit_master_${master_room})
    endforeach()
    room_tests(entrypoint/os FROM unit/support/clock NAME unit_support_clock WAITS)
    with_held_clock(unit_support_clock)
    if(TARGET entrypoint_transfer)
        room_tests(entrypoint/transfer ALONE no_memory
            USES PkgConfig::curl PkgConfig::archive WAITS)
        foreach(transfer_room http disk s3 peers fetch upload)
            room_tests(entrypoint/transfer/${transfer_room} ALONE part_file
                USES entrypoint_transfer PkgConfig::curl PkgConfig::archive PkgConfig::expat WAITS)
        endforeach()
        without_memory(unit_transfer_no_memory)
    endif()
    foreach(job_room machine cluster sagemaker)
        room_tests(entrypoint/job/${job_room} USES entrypoint_job WAITS)
    endforeach()
    # Whole jobs in one test (stage.h) have a master as well.
    room_tests(entrypoint/host USES entrypoint_master WAITS)
    with_held_clock(unit_host)
    foreach(host_room monitor observe preflight ranks provision failover worker)
        room_tests(entrypoint/host/${host_room} ALONE output_lock failure_writer transfer_process
            device_probe USES entrypoint_master WAITS)
    endforeach()
    # Stand-ins for NVML: a complete one, some without certain functions, and one that hangs.
    room_tests(entrypoint/gpu WAITS)
    set(nvml ${CMAKE_BINARY_DIR}/tests/nvml)
    foreach(standin . without_rows without_init hanging)
        string(TOUPPER STANDIN_${standin} lacking)
        string(REPLACE . whole standin_name nvml_${standin})
        add_library(${standin_name} MODULE tests/support/nvml.c)
        target_compile_definitions(${standin_name} PRIVATE _GNU_SOURCE)
        if(NOT standin STREQUAL .)
            target_compile_definitions(${standin_name} PRIVATE ${lacking})
        endif()
        set_target_properties(${standin_name} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME
            libnvidia-ml.so.1 LIBRARY_OUTPUT_DIRECTORY ${nvml}/${standin})
        add_dependencies(unit_gpu ${standin_name})
    endforeach()
    target_compile_definitions(unit_gpu PRIVATE TEST_NVML="${nvml}")
    # Plugins for NCCL: one that loads, and others that lack a library, crash, hang or export
    # nothing. They are not linked with our libraries, as a foreign program loads them.
    set(plugins ${CMAKE_BINARY_DIR}/tests/plugins)
    add_library(plugin_absent SHARED tests/support/net_plugin_absent.c)
    set_target_properties(plugin_absent PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${plugins}/absent)
    foreach(plugin GOOD LACKING CRASHING HANGING EMPTY)
        string(TOLOWER ${plugin} plugin_name)
        add_library(plugin_${plugin_name} MODULE tests/support/net_plugin.c)
        target_compile_definitions(plugin_${plugin_name} PRIVATE PLUGIN_${plugin})
        set_target_properties(plugin_${plugin_name} PROPERTIES PREFIX libnccl-net-
            OUTPUT_NAME ${plugin_name} LIBRARY_OUTPUT_DIRECTORY ${plugins})
    endforeach()
    target_link_libraries(plugin_lacking PRIVATE plugin_absent)
    set_target_properties(plugin_lacking PROPERTIES SKIP_BUILD_RPATH ON)
    target_compile_definitions(unit_host_preflight PRIVATE TEST_PLUGINS="${plugins}")
    add_dependencies(unit_host_preflight plugin_good plugin_lacking plugin_crashing plugin_hanging
        plugin_empty)
    foreach(holds unit_host_ranks unit_host_failover unit_host_worker)
        with_held_clock(${holds})
    endforeach()
    with_held_clock(unit_host_observe_failure_writer)
    # The test of the monitor sets the CPU time of the ranks.
    target_link_options(unit_host_ranks PRIVATE -Wl,--wrap=cpu_time_below)
    room_tests(entrypoint/command WAITS)
    room_tests(entrypoint NAME unit_entrypoint ALONE main no_memory WAITS)
    without_memory(unit_entrypoint_no_memory)
    add_dependencies(unit_entrypoint_main ringmaster)
    if(TARGET entrypoint_transfer)
        add_dependencies(unit_entrypoint_main ringmaster-transfer)
        target_link_libraries(unit_entrypoint_main PRIVATE PkgConfig::curl)
        target_compile_definitions(unit_entrypoint_main PRIVATE RINGMASTER_HAS_TRANSFER)
    endif()
    target_compile_definitions(unit_entrypoint_main PRIVATE
        RINGMASTER_PROGRAM="$<TARGET_FILE:ringmaster>")
    # These wait for real time while other tests compute, so they start early.
    set_tests_properties(unit_host_worker_worker unit_host_ranks_rank_set unit_master_relaunch
        PROPERTIES COST 50)
endif()
add_library(test_net STATIC tests/support/net.c tests/support/host_device.c)
target_link_libraries(test_net PUBLIC test_support trainer_graph_program trainer_models
    trainer_backend_ref PRIVATE ringmaster_flags)
foreach(graph_room graph graph/rules graph/gradient graph/build)
    room_tests(trainer/${graph_room} USES test_net)
endforeach()
foreach(graph_room fuse program)
    room_tests(trainer/graph/${graph_room} ALONE no_memory USES test_net)
endforeach()
without_memory(unit_graph_program_no_memory)
room_tests(trainer/models USES trainer_graph_program trainer_backend_ref)
foreach(trainer_room math comm optim eval telemetry report)
    room_tests(trainer/${trainer_room})
endforeach()
room_tests(trainer/export USES trainer_graph_build)
room_tests(trainer/checkpoint
    ALONE checkpoint_watch full_disk safetensors_read snapshot)
without_memory(unit_checkpoint_snapshot)
# The ranks of these tests are threads.
room_tests(trainer/comm/tcp)
target_sources(unit_comm_tcp PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/unit/trainer/comm/tcp/rank_threads.c)
room_tests(trainer/shard USES trainer_comm_tcp)
target_sources(unit_shard PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/trainer/comm/tcp/rank_threads.c)
with_held_clock(unit_shard)
# These tests compare results with those of other implementations, bit by bit.
foreach(exact anchor box exact_math proposal)
    set_source_files_properties(tests/unit/trainer/math/test_${exact}.c
        PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endforeach()
room_tests(trainer/data/codec ALONE jpeg real_pictures USES trainer_math)
foreach(data_room archive cache color download format order dataset prepare coco draw
    draw/canvas draw/labels)
    room_tests(trainer/data/${data_room})
endforeach()
room_tests(trainer/data/detect USES trainer_data_shapes)
room_tests(trainer/data/shapes USES trainer_data_dataset trainer_data_coco)
room_tests(trainer/app/options USES trainer_optim trainer_app_run)
room_tests(trainer/app/task
    ALONE detect detect_batches detect_data detect_predictions sample_health task
    USES trainer_data_shapes)
room_tests(trainer/app/weights USES trainer_backend_ref)
foreach(app_room device hosts normalize step board run command command/output command/coco
    command/trained serve serve/request serve/http comm_check comm_check/measure scaling trials)
    room_tests(trainer/app/${app_room} ALONE report)
endforeach()
with_held_clock(unit_app_serve)
target_sources(unit_app_device PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/unit/trainer/comm/tcp/rank_threads.c)
target_link_options(unit_checkpoint_safetensors_read PRIVATE -Wl,--wrap=pread)
target_link_options(unit_checkpoint_full_disk PRIVATE -Wl,--wrap=write,--wrap=unlink)

# Tests of every operator on every backend of this build, and of gradients by finite differences.
file(GLOB ops_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ops/*.c)
list(FILTER ops_sources EXCLUDE REGEX "/test_[^/]*$")
add_library(ops_harness STATIC ${ops_sources})
target_link_libraries(ops_harness PUBLIC test_support test_net trainer_graph trainer_backend_ref m
    PRIVATE ringmaster_flags)
set(backends trainer_backend_ref)
if(RINGMASTER_HAVE_CPU)
    list(APPEND backends trainer_backend_cpu)
endif()
room_tests(trainer/graph FROM ops NAME ops_graph USES ops_harness ${backends})
# Whole networks against torch's values (tests/golden/*_torch.py).
room_tests(trainer/app/run FROM golden NAME ops_run USES ops_harness)
# This one takes minutes; it only runs with RINGMASTER_LONG.
set_tests_properties(ops_run_maskrcnn_full PROPERTIES TIMEOUT 3600)
set_source_files_properties(tests/golden/test_rpn.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
set_tests_properties(ops_run_resnet ops_run_maskrcnn PROPERTIES TIMEOUT 1800)
# The longest tests start first, so that none runs alone at the end.
set_tests_properties(ops_run_resnet ops_run_maskrcnn ops_graph_parity ops_graph_parity_cpu
    ops_graph_parity_convs unit_data_detect_detection_source PROPERTIES COST 350)
# ops_again(TEST ISA): runs TEST once more as on processors with ISA, which use other kernels. Under
# a sanitizer this would take minutes.
function(ops_again test isa)
    string(TOLOWER ${isa} suffix)
    set(name ops_graph_${test}_${suffix})
    add_test(NAME ${name} COMMAND ${computing} $<TARGET_FILE:ops_graph> test_${test})
    computes(${name})
    set_tests_properties(${name} PROPERTIES LABELS ops TIMEOUT 600 ENVIRONMENT
        ONEDNN_MAX_CPU_ISA=${isa})
endfunction()
if(RINGMASTER_HAVE_CPU AND NOT RINGMASTER_SANITIZE)
    file(STRINGS /proc/cpuinfo with_avx512 REGEX "avx512f")
    if(with_avx512)
        foreach(test parity_cpu parity_convs network)
            ops_again(${test} AVX2)
        endforeach()
    endif()
    file(STRINGS /proc/cpuinfo with_tiles REGEX "amx_bf16")
    if(with_tiles)
        ops_again(parity_cpu AVX512_CORE_BF16)
        ops_again(network AVX512_CORE_BF16)
    endif()
endif()
# This test runs once more with fewer threads from OpenMP than are requested.
if(RINGMASTER_HAVE_CPU)
    add_test(NAME unit_backend_cpu_cpu_limited COMMAND unit_backend_cpu test_cpu)
    set_tests_properties(unit_backend_cpu_cpu_limited PROPERTIES LABELS unit TIMEOUT 120
        ENVIRONMENT OMP_THREAD_LIMIT=2)
endif()

if(RINGMASTER_HAVE_CUDA)
    include(${CMAKE_CURRENT_LIST_DIR}/cuda/room.cmake)
elseif(RINGMASTER_CUDA)
    add_test(NAME plans_cuda COMMAND sh -c "echo 'skipped: no CUDA toolkit here'; exit 77")
    set_tests_properties(plans_cuda PROPERTIES LABELS plans SKIP_RETURN_CODE 77)
endif()

# Whole jobs on hosts that are simulated on this machine. Most of these tests mostly wait, and
# measure the machine's own delay together with what they time. So they run in parallel with each
# other, and with those that only compute and time nothing.
set(system_alone cuda_image first_failure fork_bomb hosts names_openmpi5 outage sdk)
set(system_computing contents faults_ringtrain foreign guests maskrcnn_example quickstart straggler
    strangers)
# The longest tests and those that others wait for start first: the image, and the build that two
# examples use one after the other. The image takes minutes if nothing of it exists, mostly for an
# installer.
set(system_first image containers maskrcnn_example quickstart)
set(system_long bad_input comeback failover faults_direct faults_mpi faults_ringtrain faults_sh
    hangs job relaunch restarts_direct source_code started_anew straggler strangers uploads)
set(system_patience 900)
if(DEFINED ENV{RINGMASTER_LONG})
    set(system_patience 7200)
endif()
file(GLOB system_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/system/test_*.sh)
foreach(script IN LISTS system_tests)
    get_filename_component(stem ${script} NAME_WE)
    string(REPLACE "test_" "system_" name ${stem})
    add_test(NAME ${name} COMMAND sh ${script})
    string(REPLACE "test_" "" stem ${stem})
    set(alone OFF)
    set(cost 100)
    if(stem IN_LIST system_alone)
        set(alone ON)
    endif()
    if(stem IN_LIST system_long)
        set(cost 200)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS system TIMEOUT ${system_patience}
        RUN_SERIAL ${alone} COST ${cost} SKIP_RETURN_CODE 77
        ENVIRONMENT RINGMASTER_BIN=${CMAKE_BINARY_DIR}/bin)
    if(stem IN_LIST system_computing)
        computes(${name})
        if(stem IN_LIST system_long)
            set_property(TEST ${name} PROPERTY COST 340)
        endif()
    endif()
    if(stem IN_LIST system_first)
        set_property(TEST ${name} PROPERTY COST 1000)
    endif()
endforeach()
# This test builds the base, the image and its last stage again, in parallel with all other tests.
if(system_patience LESS 2700)
    set_tests_properties(system_image PROPERTIES TIMEOUT 2700)
endif()
set_tests_properties(system_containers system_sdk PROPERTIES DEPENDS system_image)
if(TEST sdk_package)
    set_tests_properties(system_source_code PROPERTIES DEPENDS sdk_package)
endif()
# The stand-in for S3 is installed once, and tests that need it occupy no slot meanwhile.
if(TARGET entrypoint_transfer)
    add_test(NAME system_moto COMMAND sh ${CMAKE_SOURCE_DIR}/tests/system/moto_install.sh)
    set_tests_properties(system_moto PROPERTIES LABELS system TIMEOUT 600 COST 200 SKIP_RETURN_CODE
        77)
    set_tests_properties(system_sources system_uploads system_examples PROPERTIES DEPENDS
        system_moto)
endif()
# Both build in the same folder (examples/containers.sh).
set_property(TEST system_quickstart system_maskrcnn_example APPEND PROPERTY RESOURCE_LOCK
    quickstart_build)
if(RINGMASTER_HAVE_CPU)
    set(cpu_needs OneDNN::OneDNN OpenMP::OpenMP_C ops_harness trainer_backend_ref)
    room_tests(trainer/backend/cpu ALONE no_memory USES ${cpu_needs})
    foreach(cpu_room base conv dense detect kernels kernels/conv)
        room_tests(trainer/backend/cpu/${cpu_room} USES trainer_backend_cpu ${cpu_needs})
    endforeach()
    without_memory(unit_backend_cpu_no_memory)
endif()
# Programs that the system tests start on the hosts or outside of them.
foreach(program await host probe_forge lag filtered)
    add_executable(${program} tests/system/${program}.c)
    target_include_directories(${program} PRIVATE ${TEST_INCLUDES})
    target_link_libraries(${program} PRIVATE ringmaster_flags)
endforeach()
# The program that the ranks of random jobs run (tests/system/chaos).
add_executable(chaos_rank tests/system/chaos/rank.c)
target_link_libraries(chaos_rank PRIVATE ringmaster_flags)
find_program(python_program python3)
if(python_program)
    add_test(NAME chaos_oracle COMMAND ${python_program}
        ${CMAKE_SOURCE_DIR}/tests/system/chaos/test_oracle.py)
    set_tests_properties(chaos_oracle PROPERTIES LABELS unit TIMEOUT 120)
endif()
# probe_forge speaks the current version of the control link.
if(TARGET entrypoint_wire)
    target_link_libraries(probe_forge PRIVATE entrypoint_wire)
endif()
if(RINGMASTER_HAVE_MPI)
    foreach(probe probe_mpi probe_hang)
        add_executable(${probe} tests/system/${probe}.c)
        target_link_libraries(${probe} PRIVATE MPI::MPI_C ringmaster_flags)
    endforeach()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/train/room.cmake)

# Fuzz targets: tests/fuzz/fuzz_NAME.c over the seeds in tests/fuzz/corpus/NAME. With
# RINGMASTER_FUZZ (clang, preset fuzz) they are fuzzers; otherwise they replay their seeds.
# Half of them test the launcher: without it none is built.
set(fuzz_sources)
if(TARGET entrypoint)
    file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
endif()
if(NOT TARGET entrypoint_transfer)
    foreach(transferred download_response s3_responses objects unpack peer_request transfer_orders
            first_folder)
        list(REMOVE_ITEM fuzz_sources ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${transferred}.c)
    endforeach()
endif()
foreach(source IN LISTS fuzz_sources)
    get_filename_component(target ${source} NAME_WE)
    string(REPLACE "fuzz_" "" name ${target})
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(${target} PRIVATE ${TEST_INCLUDES})
    target_link_libraries(${target} PRIVATE entrypoint trainer_data_dataset trainer_data_coco
        trainer_data_format trainer_data_archive trainer_data_detect trainer_checkpoint trainer_eval
        trainer_report trainer_telemetry trainer_app_serve_request
        common_log ringmaster_flags)
    if(name STREQUAL "run_state")
        target_link_libraries(${target} PRIVATE trainer_app_run)
    elseif(name STREQUAL "async_server")
        target_link_libraries(${target} PRIVATE trainer_shard)
        with_held_clock(${target})
    endif()
    if(TARGET entrypoint_transfer)
        target_link_libraries(${target} PRIVATE entrypoint_transfer PkgConfig::curl)
    endif()
    if(RINGMASTER_FUZZ)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${target} PRIVATE tests/fuzz/replay.c)
        add_test(NAME ${target} COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
        set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT 120)
    endif()
endforeach()
# Checks that the targets parse every kind of frame.
if(TARGET entrypoint AND NOT RINGMASTER_FUZZ)
    add_test(NAME fuzz_frames COMMAND sh ${CMAKE_SOURCE_DIR}/tests/fuzz/frames.sh
        ${CMAKE_BINARY_DIR}/tests)
    set_tests_properties(fuzz_frames PROPERTIES LABELS unit TIMEOUT 120)
endif()

# Checks that every reader of the trainer has a target, or a reason for having none.
add_test(NAME fuzz_readers COMMAND sh ${CMAKE_SOURCE_DIR}/tests/fuzz/readers.sh)
set_tests_properties(fuzz_readers PROPERTIES LABELS unit TIMEOUT 120)

# Libraries that the system tests load into processes: a disk that stalls, a clock that is set, one
# that runs fast, a training that is held, and one that no process should load.
foreach(loaded stall clock haste hold canary)
    add_library(${loaded} MODULE tests/system/${loaded}.c)
    target_link_libraries(${loaded} PRIVATE ringmaster_flags)
    set_target_properties(${loaded} PROPERTIES PREFIX ""
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
