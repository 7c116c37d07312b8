# Flags for all of our targets; third-party headers are included as system headers.
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Level 1 gives stack traces functions and lines; locations of variables would double compile time.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG") # for an image, which keeps no symbols
if(RINGMASTER_ONE_FILE)
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g0 -DNDEBUG") # the program has to be small
endif()

add_library(ringmaster_flags INTERFACE)
target_compile_definitions(ringmaster_flags INTERFACE _GNU_SOURCE
    RINGMASTER_VERSION="${PROJECT_VERSION}")
if(RINGMASTER_ONE_FILE)
    target_compile_definitions(ringmaster_flags INTERFACE RINGMASTER_ONE_FILE
        RINGMASTER_C_LIBRARY="${RINGMASTER_C_LIBRARY}")
endif()
# In a unity build, static names of one source may be local variables of another.
set(shadow "-Wshadow;")
if(RINGMASTER_UNITY)
    set(shadow)
endif()
target_compile_options(ringmaster_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;${shadow}-Wconversion;-Wstrict-prototypes;-Wmissing-prototypes;-Wvla;-Wformat=2;-Wwrite-strings;-Wundef;-Werror>
    # Our constants are enumerators, which also appear in floating-point expressions.
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-enum-float-conversion>
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-unknown-pragmas>
    $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong;-fno-common;-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
    target_compile_options(ringmaster_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-D_FORTIFY_SOURCE=2>)
endif()
# Hosts compare the build ID (entrypoint/os/build_id.h).
target_link_options(ringmaster_flags INTERFACE -Wl,-z,relro,-z,now,--build-id=sha1)

if(RINGMASTER_SANITIZE)
    target_compile_options(ringmaster_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fsanitize=${RINGMASTER_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
    target_link_options(ringmaster_flags INTERFACE -fsanitize=${RINGMASTER_SANITIZE})
endif()

# Fuzzers need all of our code instrumented (clang only).
if(RINGMASTER_FUZZ)
    target_compile_options(ringmaster_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
