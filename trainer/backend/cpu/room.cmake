# The CPU backend: oneDNN for convolutions and matrix products, own loops for the rest. Without
# oneDNN the build continues, and the program only has the backend `ref`.
#
# The loops (loop_*.c in kernels/) are compiled once for each instruction set below and chosen when
# the program starts, so that a build never depends on the machine that made it.
part(ONEDNN AUTO "the CPU backend on oneDNN 3")
if(RINGMASTER_ONEDNN)
    find_package(OneDNN 3.0)
endif()
part_settle(ONEDNN "${OneDNN_FOUND}"
    "oneDNN 3: sh docker/fetch_onednn.sh fetches it, -DONEDNN_ROOT=PREFIX names it")
set(RINGMASTER_HAVE_CPU ${RINGMASTER_HAVE_ONEDNN})
if(NOT RINGMASTER_HAVE_CPU)
    return()
endif()

# From the bottom up: kernels; the base of all operators; operators of dense layers, convolutions
# and detection, which do not use each other, except that conv uses dense for a norm after a
# convolution; and the backend.
set(cpu_libraries OneDNN::OneDNN OpenMP::OpenMP_C m)
file(GLOB cpu_loops CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR}/kernels
    ${CMAKE_CURRENT_LIST_DIR}/kernels/loop_*.c)
file(GLOB cpu_loops_conv CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR}/kernels/conv
    ${CMAKE_CURRENT_LIST_DIR}/kernels/conv/loop_*.c)
room(trainer/backend/cpu/kernels USES trainer/math LINKS ${cpu_libraries} EXCLUDE ${cpu_loops})
room(trainer/backend/cpu/kernels/conv USES trainer/backend/cpu/kernels EXCLUDE ${cpu_loops_conv})
room(trainer/backend/cpu/base USES common/* trainer/graph trainer/math
    trainer/backend/cpu/kernels
    LINKS ${cpu_libraries})
room(trainer/backend/cpu/dense USES trainer/backend/cpu/base LINKS ${cpu_libraries})
room(trainer/backend/cpu/conv USES trainer/backend/cpu/base trainer/backend/cpu/dense LINKS
    ${cpu_libraries})
room(trainer/backend/cpu/detect USES trainer/backend/cpu/base LINKS ${cpu_libraries})
room(trainer/backend/cpu USES trainer/backend/cpu/base trainer/backend/cpu/dense
    trainer/backend/cpu/conv trainer/backend/cpu/detect LINKS ${cpu_libraries})
target_compile_definitions(trainer_backend_cpu PUBLIC RINGMASTER_HAVE_CPU=1)
# The choices of these depend on last bits: a*b+c is rounded twice, as in ref.
foreach(exact detections mask_targets nms roi_align roi_table roi_targets rpn_select rpn_targets)
    set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/detect/${exact}.c APPEND
        PROPERTY COMPILE_OPTIONS -ffp-contract=off $<$<NOT:$<CONFIG:Debug>>:-O3>)
endforeach()

# A sanitizer's build only runs on the machine that made it. Loops that this machine cannot run are
# compiled without checks, which would take minutes to compile.
add_library(cpu_loops_unseen INTERFACE)
target_compile_options(cpu_loops_unseen INTERFACE -fno-sanitize=all)
file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)

# Loops over f32 only. Those of avx512bf16 would be the same code as those of avx512, and all other
# loops of amx the same as those of avx512bf16: each is compiled once.
set(cpu_loops_f32 conv_rows conv_rows_pack gemm gemm_weight tiles winograd4 winograd4_pack
    winograd4_product)
list(TRANSFORM cpu_loops_f32 REPLACE "(.+)" "loop_\\1.c")

# Loops that some instruction sets do not have; tables hold NULL for those of the first two lists,
# and of the last two every set has one or the other.
set(cpu_loops_avx512 weight)
set(cpu_loops_bf16 point winograd winograd_weight)
set(cpu_loops_amx tiles)
set(cpu_loops_not_amx gemm)
foreach(set avx512 bf16 amx not_amx)
    list(TRANSFORM cpu_loops_${set} REPLACE "(.+)" "loop_\\1.c")
endforeach()

# cpu_loop_variant(NAME FLAG [HAS set...] [BF16 variant] [F32 variant] OPTIONS option...)
#   FLAG     the flag in /proc/cpuinfo of processors that can run it; all can if it is empty
#   HAS      avx512, bf16, amx: which of the loops above it has; LOOP_HAS_AVX512 and so on tell it
#   BF16     the variant with which it shares the loops over bf16; default: its own
#   F32      the variant with which it shares the loops over only f32; default: its own
function(cpu_loop_variant NAME FLAG)
    cmake_parse_arguments(R "" "BF16;F32" "HAS;OPTIONS" ${ARGN})
    set(absent)
    set(has)
    foreach(set avx512 bf16 amx)
        if(set IN_LIST R_HAS)
            string(TOUPPER LOOP_HAS_${set}=1 define)
            list(APPEND has ${define})
        else()
            list(APPEND absent ${cpu_loops_${set}})
        endif()
    endforeach()
    if(amx IN_LIST R_HAS)
        list(APPEND absent ${cpu_loops_not_amx})
    endif()
    list(TRANSFORM cpu_loops PREPEND ${CMAKE_CURRENT_LIST_DIR}/kernels/ OUTPUT_VARIABLE sources)
    set(conv ${cpu_loops_conv})
    set(f32 ${cpu_loops_f32})
    list(REMOVE_ITEM conv ${f32} ${absent})
    list(REMOVE_ITEM f32 ${absent})
    list(TRANSFORM conv PREPEND ${CMAKE_CURRENT_LIST_DIR}/kernels/conv/)
    list(TRANSFORM f32 PREPEND ${CMAKE_CURRENT_LIST_DIR}/kernels/conv/)
    if(R_BF16)
        set(sources ${CMAKE_CURRENT_LIST_DIR}/kernels/loop_table.c)
        set(conv)
    else()
        set(R_BF16 ${NAME})
    endif()
    if(R_F32)
        set(f32)
    else()
        set(R_F32 ${NAME})
    endif()
    add_library(cpu_loops_${NAME} OBJECT ${sources} ${conv} ${f32})
    target_include_directories(cpu_loops_${NAME} PRIVATE
        ${ROOM_INCLUDES}/trainer_backend_cpu_kernels
        ${ROOM_INCLUDES}/trainer_backend_cpu_kernels_conv ${ROOM_INCLUDES}/trainer_math)
    target_compile_definitions(cpu_loops_${NAME} PRIVATE LOOP_VARIANT=${NAME} LOOP_BF16=${R_BF16}
        LOOP_F32=${R_F32} ${has})
    # The loops may contract a*b+c to one rounding where there is FMA, and reassociate nothing. With
    # a sanitizer's checks, -O3 would take minutes to compile them.
    target_compile_options(cpu_loops_${NAME} PRIVATE $<IF:$<CONFIG:Debug>,-O1,-O3>
        -ffp-contract=fast
        ${R_OPTIONS})
    target_link_libraries(cpu_loops_${NAME} PRIVATE ringmaster_flags)
    if(RINGMASTER_SANITIZE AND FLAG AND NOT "${cpu_flags} " MATCHES " ${FLAG} ")
        target_link_libraries(cpu_loops_${NAME} PRIVATE cpu_loops_unseen)
    endif()
    # The header of intrinsics takes a third of the compile time. ccache does not cache objects with
    # a precompiled header.
    if(NOT CMAKE_C_COMPILER_LAUNCHER)
        target_precompile_headers(cpu_loops_${NAME} PRIVATE
            ${CMAKE_CURRENT_LIST_DIR}/kernels/vec.h)
    endif()
    target_sources(trainer_backend_cpu_kernels PRIVATE $<TARGET_OBJECTS:cpu_loops_${NAME}>)
endfunction()

cpu_loop_variant(baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    cpu_loop_variant(avx2 avx2 OPTIONS -march=x86-64-v3)
    cpu_loop_variant(avx512 avx512bw HAS avx512 OPTIONS -march=x86-64-v4 -mprefer-vector-width=512)
    cpu_loop_variant(avx512bf16 avx512_bf16 HAS avx512 bf16 F32 avx512 OPTIONS -march=x86-64-v4
        -mavx512bf16 -mprefer-vector-width=512)
    cpu_loop_variant(amx amx_bf16 HAS avx512 bf16 amx BF16 avx512bf16 OPTIONS -march=x86-64-v4
        -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512)
    target_compile_definitions(trainer_backend_cpu_kernels PRIVATE LOOP_X86=1)
endif()
