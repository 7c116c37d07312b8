# The trainer's rooms, from the bottom up. Arrows go one way; what a room may include is what it
# USES. Only backend/cpu sees oneDNN, only backend/cuda and comm/nccl see CUDA, only comm/mpi sees
# MPI, only data/codec sees libjpeg and libpng, only data/draw sees FreeType.
pkg_check_modules(turbojpeg IMPORTED_TARGET libturbojpeg)
find_package(JPEG)
find_package(PNG REQUIRED)
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
set(draw_fonts_out fonts.c)
set(draw_fonts_library)
if(RINGMASTER_HAVE_FREETYPE)
    set(draw_fonts_out fonts_absent.c)
    set(draw_fonts_library PkgConfig::freetype2)
endif()

room(kernels trainer/kernels USES common)
# Headers alone, so what their bodies call has to be linked by whoever includes them.
target_link_libraries(kernels INTERFACE m)
room(backend trainer/backend USES common)
# What a network is; how it is rewritten; how it runs. Backends know the first alone.
room(graph trainer/graph USES common backend kernels)
room(fuse trainer/graph/fuse USES common graph backend)
room(program trainer/graph/program USES common graph backend kernels fuse)
room(ref trainer/backend/ref USES common graph backend kernels LINKS m)
include(${CMAKE_CURRENT_LIST_DIR}/backend/cpu/room.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/backend/cuda/room.cmake)
room(comm trainer/comm USES common LINKS Threads::Threads)
if(RINGMASTER_HAVE_MPI)
    room(comm_mpi trainer/comm/mpi USES comm common LINKS MPI::MPI_C Threads::Threads)
endif()
if(RINGMASTER_HAVE_NCCL)
    room(comm_nccl trainer/comm/nccl USES comm common LINKS ringmaster_nccl Threads::Threads)
endif()
room(models trainer/models USES common graph backend kernels)
room(eval trainer/eval USES common kernels LINKS OpenMP::OpenMP_C m)

# Data: codec is the ground; set, coco and shapes stand on it side by side and do not know each other.
room(codec trainer/data/codec USES common LINKS JPEG::JPEG PNG::PNG m)
room(set trainer/data/set USES common kernels codec LINKS Threads::Threads m)
# The outlines of annotations are eval's masks.
room(coco trainer/data/coco USES common kernels codec eval LINKS OpenMP::OpenMP_C m)
# What a detector learns from and finds, and what is painted, stands on annotations.
room(detect trainer/data/detect USES common kernels codec eval set coco LINKS m)
room(draw trainer/data/draw USES common kernels codec eval coco LINKS ${draw_fonts_library} m
    EXCLUDE ${draw_fonts_out})
room(shapes trainer/data/shapes USES common kernels codec eval LINKS m)

room(optim trainer/optim USES common kernels LINKS OpenMP::OpenMP_C m)
# Loops over whole arenas: -O2 of GCC 12 leaves them scalar.
target_compile_options(optim PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
room(checkpoint trainer/checkpoint USES common)
room(telemetry trainer/telemetry USES common LINKS m)

# The trainer's program, from the ground up.
room(options trainer/app/options USES common graph backend kernels fuse models codec set)
room(device trainer/app/device
    USES common graph backend kernels fuse ref comm options
    LINKS OpenMP::OpenMP_C m)
if(TARGET cpu)
    target_link_libraries(device PUBLIC cpu)
endif()
if(TARGET cuda)
    target_link_libraries(device PUBLIC cuda)
    target_compile_definitions(device PUBLIC RINGMASTER_HAVE_CUDA)
endif()
if(TARGET comm_nccl)
    target_link_libraries(device PUBLIC comm_nccl)
    target_compile_definitions(device PUBLIC RINGMASTER_HAVE_NCCL)
endif()
if(RINGMASTER_HAVE_MPI)
    target_link_libraries(device PUBLIC comm_mpi)
    target_compile_definitions(device PUBLIC RINGMASTER_HAVE_MPI)
endif()
room(task trainer/app/task
    USES common graph backend kernels comm models codec set eval coco detect draw checkpoint
        options device
    LINKS m)
room(run trainer/app/run
    USES common graph backend kernels fuse program comm models codec set optim checkpoint telemetry
        options device task
    LINKS m)
room(command trainer/app/command
    USES common graph backend kernels comm models codec set coco detect draw shapes eval checkpoint
        telemetry options device task run
    LINKS OpenMP::OpenMP_C m)

# The meaning of every operator is exact: a*b+c is two roundings there.
foreach(exact kernels ref eval coco detect)
    get_target_property(type ${exact} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
        target_compile_options(${exact} PRIVATE -ffp-contract=off)
    endif()
endforeach()

# Slow enough as it is: the sanitizers' builds, which do not optimize, spend their time in there.
target_compile_options(ref PRIVATE $<$<CONFIG:Debug>:-O2>)
# Its loops are most of what a sanitized suite computes. Whether a pointer may be used is AddressSanitizer's to
# say, at each access; that it could not be, in the sums before, is not looked at twice.
if(RINGMASTER_SANITIZE MATCHES "address")
    set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/backend/ref/conv.c ${CMAKE_CURRENT_LIST_DIR}/backend/ref/dense.c
        APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=null,alignment,pointer-overflow,object-size)
endif()

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/app/main.c)
    add_executable(ringtrain ${CMAKE_CURRENT_LIST_DIR}/app/main.c)
    target_link_libraries(ringtrain PRIVATE command ringmaster_flags)
    install(TARGETS ringtrain COMPONENT trainer)
endif()
