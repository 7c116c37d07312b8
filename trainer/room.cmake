# The trainer's rooms, from the bottom up. Dependencies go one way: a room may only include what it
# USES. Only backend/cpu sees oneDNN, only backend/cuda and comm/nccl see CUDA, only comm/mpi sees
# MPI, only data/codec sees libjpeg and libpng, only data/draw/labels sees FreeType, only
# app/serve/http sees libmicrohttpd.
pkg_check_modules(turbojpeg IMPORTED_TARGET libturbojpeg)
find_package(JPEG)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
part(MPI AUTO "ranks over Open MPI")
if(RINGMASTER_MPI)
    find_package(MPI COMPONENTS C)
endif()
part_settle(MPI "${MPI_C_FOUND}" "libopenmpi-dev")
part(FREETYPE AUTO "letters of fonts for labels in pictures")
if(RINGMASTER_FREETYPE)
    pkg_check_modules(freetype2 IMPORTED_TARGET freetype2)
endif()
part_settle(FREETYPE "${freetype2_FOUND}" "libfreetype-dev")
part(SERVE AUTO "serving predictions over HTTP")
if(RINGMASTER_SERVE)
    pkg_check_modules(microhttpd IMPORTED_TARGET libmicrohttpd>=0.9.71)
endif()
part_settle(SERVE "${microhttpd_FOUND}" "libmicrohttpd-dev")
set(serve_http_out http_server.c)
set(serve_http_library)
if(RINGMASTER_HAVE_SERVE)
    set(serve_http_out http_absent.c)
    set(serve_http_library PkgConfig::microhttpd)
endif()
set(draw_fonts_out fonts.c)
set(draw_fonts_library)
if(RINGMASTER_HAVE_FREETYPE)
    set(draw_fonts_out fonts_absent.c)
    set(draw_fonts_library PkgConfig::freetype2)
endif()

room(trainer/math USES common/*)
# The room only has headers, so targets that include them have to link the libraries that they call.
target_link_libraries(trainer_math INTERFACE m)
# In this order: what a network is; what its operators compute, and their gradients; how a network
# is built, rewritten and run. Backends only see the first.
room(trainer/graph USES common/* trainer/math)
room(trainer/graph/rules USES common/* trainer/graph trainer/math)
room(trainer/graph/gradient USES common/* trainer/graph trainer/graph/rules)
room(trainer/graph/build USES common/* trainer/graph trainer/graph/rules trainer/graph/gradient)
room(trainer/graph/fuse USES common/* trainer/graph trainer/graph/rules)
room(trainer/graph/program USES common/* trainer/graph trainer/math trainer/graph/rules
    trainer/graph/gradient trainer/graph/fuse LINKS OpenMP::OpenMP_C m)
room(trainer/backend/ref/base USES common/* trainer/graph trainer/math LINKS m)
room(trainer/backend/ref/dense USES trainer/backend/ref/base LINKS m)
room(trainer/backend/ref/detect USES trainer/backend/ref/base LINKS m)
room(trainer/backend/ref USES common/* trainer/graph trainer/backend/ref/base
    trainer/backend/ref/dense trainer/backend/ref/detect LINKS m)
include(${CMAKE_CURRENT_LIST_DIR}/backend/cpu/room.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/backend/cuda/room.cmake)
room(trainer/comm USES common/* trainer/math LINKS Threads::Threads)
room(trainer/comm/tcp USES trainer/comm common/* LINKS Threads::Threads)
if(RINGMASTER_HAVE_MPI)
    room(trainer/comm/mpi USES trainer/comm common/* LINKS MPI::MPI_C Threads::Threads)
endif()
if(RINGMASTER_HAVE_NCCL)
    room(trainer/comm/nccl USES trainer/comm common/* LINKS ringmaster_nccl Threads::Threads)
endif()
room(trainer/models USES common/* trainer/graph trainer/graph/build trainer/math)
room(trainer/eval USES common/* trainer/math LINKS OpenMP::OpenMP_C m)

# Data: codec is the base; dataset, coco and shapes use it and not each other.
room(trainer/data/codec USES common/* LINKS JPEG::JPEG PNG::PNG m)
room(trainer/data/format USES common/* trainer/data/codec LINKS m)
# Archives of published data sets: only this room sees zlib.
room(trainer/data/archive USES common/* trainer/data/format LINKS ZLIB::ZLIB)
# Downloads of archives: libcurl runs in a separate child process.
room(trainer/data/download USES common/*)
room(trainer/data/color USES common/* trainer/math LINKS m)
room(trainer/data/cache USES common/* trainer/data/codec)
room(trainer/data/order USES common/* trainer/math)
room(trainer/data/dataset
    USES common/* trainer/math trainer/data/cache trainer/data/codec trainer/data/color
    trainer/data/format trainer/data/order
    LINKS Threads::Threads m)
# The outlines of annotations are eval's masks.
room(trainer/data/coco USES common/* trainer/math trainer/data/codec trainer/eval LINKS
    OpenMP::OpenMP_C m)
# The targets and detections of a detector, and drawings, are based on annotations.
room(trainer/data/detect USES common/* trainer/math trainer/data/codec trainer/eval
    trainer/data/dataset trainer/data/order trainer/data/coco LINKS m)
room(trainer/data/draw/canvas USES common/* trainer/math trainer/data/codec trainer/eval LINKS m)
room(trainer/data/draw/labels
    USES common/* trainer/math trainer/data/codec trainer/eval trainer/data/draw/canvas
    LINKS ${draw_fonts_library} m
    EXCLUDE ${draw_fonts_out})
room(trainer/data/draw
    USES common/* trainer/math trainer/data/codec trainer/eval trainer/data/coco
    trainer/data/draw/canvas trainer/data/draw/labels
    LINKS m)
room(trainer/data/prepare USES common/* trainer/math trainer/data/codec trainer/data/format
    trainer/data/archive trainer/data/dataset trainer/data/order LINKS Threads::Threads m)
room(trainer/data/shapes USES common/* trainer/math trainer/data/codec trainer/eval LINKS m)

room(trainer/optim USES common/* trainer/math LINKS OpenMP::OpenMP_C m)
# GCC 12 does not vectorize the loops over whole arenas with -O2.
target_compile_options(trainer_optim PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
# The optimizer's state, divided over ranks.
room(trainer/shard USES common/* trainer/math trainer/optim trainer/comm)
room(trainer/checkpoint USES common/* LINKS OpenMP::OpenMP_C Threads::Threads)
# Networks in the formats of other programs.
room(trainer/export USES common/* trainer/graph trainer/math trainer/checkpoint)
room(trainer/telemetry USES common/* LINKS m)
# Pages about runs, from the files that telemetry writes.
room(trainer/report USES common/* LINKS m)

# The trainer's program, from the bottom up.
room(trainer/app/options USES common/* trainer/graph trainer/math trainer/optim
    trainer/graph/fuse trainer/models
    trainer/data/codec trainer/data/format trainer/data/dataset trainer/data/order)
room(trainer/app/device
    USES common/* trainer/graph trainer/math trainer/graph/fuse trainer/graph/program
    trainer/backend/ref trainer/comm trainer/comm/tcp trainer/app/options
    LINKS OpenMP::OpenMP_C m)
if(TARGET trainer_backend_cpu)
    target_link_libraries(trainer_app_device PUBLIC trainer_backend_cpu)
endif()
if(TARGET trainer_backend_cuda)
    target_link_libraries(trainer_app_device PUBLIC trainer_backend_cuda)
    target_compile_definitions(trainer_app_device PUBLIC RINGMASTER_HAVE_CUDA)
endif()
if(TARGET trainer_comm_nccl)
    target_link_libraries(trainer_app_device PUBLIC trainer_comm_nccl)
    target_compile_definitions(trainer_app_device PUBLIC RINGMASTER_HAVE_NCCL)
endif()
if(RINGMASTER_HAVE_MPI)
    target_link_libraries(trainer_app_device PUBLIC trainer_comm_mpi)
    target_compile_definitions(trainer_app_device PUBLIC RINGMASTER_HAVE_MPI)
endif()
room(trainer/app/normalize
    USES common/* trainer/math trainer/comm trainer/graph trainer/models trainer/optim
    trainer/data/codec trainer/data/color trainer/data/format trainer/data/dataset
    trainer/data/order
    trainer/app/options
    LINKS Threads::Threads m)
room(trainer/app/hosts
    USES common/* trainer/math trainer/comm trainer/data/codec trainer/data/color
    trainer/data/format trainer/data/dataset trainer/data/cache trainer/data/order
    trainer/app/device)
room(trainer/app/task
    USES common/* trainer/graph trainer/math trainer/comm trainer/models
    trainer/data/codec trainer/data/dataset trainer/data/order trainer/eval trainer/data/coco
    trainer/data/detect
    trainer/data/draw/* trainer/checkpoint
        trainer/app/hosts trainer/app/options trainer/app/device trainer/app/normalize
    LINKS m)
room(trainer/app/weights
    USES common/* trainer/graph trainer/math trainer/graph/program trainer/comm
    trainer/models trainer/checkpoint trainer/app/options trainer/app/task
    LINKS m)
room(trainer/app/step
    USES common/* trainer/graph trainer/math trainer/graph/fuse
    trainer/graph/program trainer/comm trainer/models trainer/data/codec trainer/data/dataset
    trainer/data/order trainer/optim trainer/shard trainer/telemetry trainer/app/options
    trainer/app/device trainer/app/task
    LINKS m)
room(trainer/app/board
    USES common/* trainer/graph trainer/math trainer/graph/program trainer/telemetry
    trainer/comm trainer/models trainer/data/codec trainer/data/dataset trainer/data/order
    trainer/checkpoint trainer/app/options trainer/app/task)
room(trainer/app/run
    USES common/* trainer/graph trainer/math trainer/graph/fuse
    trainer/graph/program trainer/comm trainer/models trainer/data/codec trainer/data/dataset
    trainer/data/order
    trainer/optim trainer/checkpoint trainer/telemetry trainer/report
        trainer/app/hosts trainer/app/options trainer/app/device trainer/app/task
        trainer/app/weights trainer/app/step trainer/app/board
    LINKS m)
# The ranks of a communicator as slots (common/slots).
room(trainer/app/slots USES common/* trainer/comm trainer/app/device)
room(trainer/app/serve/request USES common/*)
room(trainer/app/serve
    USES common/* trainer/graph trainer/math trainer/graph/fuse trainer/graph/program
    trainer/comm trainer/models trainer/eval trainer/data/codec trainer/data/dataset
    trainer/data/order trainer/data/coco trainer/data/detect trainer/checkpoint
        trainer/app/options trainer/app/device trainer/app/task trainer/app/step
    trainer/app/serve/request
    LINKS Threads::Threads m)
room(trainer/app/serve/http USES common/* trainer/app/serve trainer/app/serve/request
    LINKS Threads::Threads ${serve_http_library}
    EXCLUDE ${serve_http_out})
room(trainer/app/comm_check/measure USES common/* trainer/comm LINKS Threads::Threads)
if(TARGET trainer_comm_nccl)
    target_link_libraries(trainer_app_comm_check_measure PUBLIC trainer_comm_nccl)
    target_compile_definitions(trainer_app_comm_check_measure PUBLIC RINGMASTER_HAVE_NCCL)
endif()
room(trainer/app/comm_check
    USES common/* trainer/comm trainer/app/options trainer/app/device
    trainer/app/comm_check/measure)
room(trainer/app/scaling
    USES common/* trainer/comm trainer/report trainer/app/options trainer/app/device
    trainer/app/slots LINKS m)
room(trainer/app/trials
    USES common/* trainer/comm trainer/report trainer/checkpoint trainer/app/options
    trainer/app/device trainer/app/slots LINKS m)
room(trainer/app/command/output USES common/* trainer/telemetry)
room(trainer/app/command/coco
    USES common/* trainer/eval trainer/data/coco trainer/data/detect trainer/data/shapes
    trainer/app/options trainer/app/command/output
    LINKS OpenMP::OpenMP_C m)
room(trainer/app/command/prepare
    USES common/* trainer/math trainer/comm trainer/data/codec trainer/data/color
    trainer/data/format trainer/data/archive trainer/data/dataset trainer/data/order
    trainer/data/download trainer/data/prepare
    trainer/comm/tcp trainer/app/options trainer/app/device trainer/app/task
    trainer/app/command/output)
# `ringtrain inspect plan`, and the GPU that it simulates.
room(trainer/app/plan
    USES common/* trainer/graph trainer/math trainer/graph/fuse trainer/graph/program
    trainer/comm trainer/models trainer/optim trainer/shard trainer/telemetry
    trainer/data/codec trainer/data/dataset trainer/data/order trainer/data/coco
    trainer/data/detect trainer/eval trainer/checkpoint
    trainer/app/options trainer/app/device trainer/app/task trainer/app/step
    trainer/app/command/output
    LINKS OpenMP::OpenMP_C m)
room(trainer/app/command/trained
    USES common/* trainer/comm trainer/data/dataset trainer/data/order trainer/checkpoint
    trainer/app/options
    trainer/app/device trainer/app/task trainer/app/weights trainer/app/step trainer/app/board
    trainer/app/run)
room(trainer/app/command
    USES common/* trainer/graph trainer/math trainer/comm trainer/models
    trainer/data/codec trainer/data/dataset trainer/data/order trainer/data/coco
    trainer/data/detect trainer/data/draw/*
    trainer/data/shapes trainer/data/prepare trainer/eval trainer/checkpoint
        trainer/telemetry trainer/report trainer/app/options trainer/app/device trainer/app/task
        trainer/app/weights trainer/app/step trainer/app/board trainer/app/run
        trainer/shard trainer/app/command/output trainer/app/command/coco
        trainer/app/command/prepare trainer/app/command/trained trainer/app/plan
        trainer/app/comm_check
        trainer/app/slots trainer/app/scaling trainer/app/trials
        trainer/app/serve trainer/app/serve/request trainer/app/serve/http trainer/export
    LINKS OpenMP::OpenMP_C m)

# These define the exact results of operators: a*b+c is rounded twice.
foreach(exact trainer_math trainer_backend_ref trainer_backend_ref_base
    trainer_backend_ref_dense trainer_backend_ref_detect trainer_eval trainer_data_coco
    trainer_data_detect)
    get_target_property(type ${exact} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
        target_compile_options(${exact} PRIVATE -ffp-contract=off)
    endif()
endforeach()

# These rooms are optimized in debug builds as well: the sanitizers' builds spend most of their time
# in them.
foreach(slow trainer_backend_ref trainer_backend_ref_base trainer_backend_ref_dense
    trainer_backend_ref_detect)
    target_compile_options(${slow} PRIVATE $<$<CONFIG:Debug>:-O2>)
endforeach()
# Most of a sanitized suite's time goes into these loops. AddressSanitizer checks the pointer of
# each access; the additional checks of the sums that make up the pointers are left out.
if(RINGMASTER_SANITIZE MATCHES "address")
    set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/backend/ref/dense/conv.c
        ${CMAKE_CURRENT_LIST_DIR}/backend/ref/dense/dense.c
        APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=null,alignment,pointer-overflow,object-size)
endif()

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/app/main.c)
    add_executable(ringtrain ${CMAKE_CURRENT_LIST_DIR}/app/main.c)
    target_link_libraries(ringtrain PRIVATE trainer_app_command ringmaster_flags)
    install(TARGETS ringtrain COMPONENT trainer)
    # A container of a hosting service starts ringtrain as `serve`.
    add_custom_command(TARGET ringtrain POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink ringtrain serve
        WORKING_DIRECTORY $<TARGET_FILE_DIR:ringtrain>
        VERBATIM)
    install(
        CODE "file(CREATE_LINK ringtrain \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/serve SYMBOLIC)"
        COMPONENT trainer)
endif()
