# The toolchain file of the static launcher: RINGMASTER_TOOLS and RINGMASTER_PREFIX are folders that
# docker/static.sh has made, RINGMASTER_ARCH is x86_64 or aarch64.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RINGMASTER_TOOLS RINGMASTER_PREFIX RINGMASTER_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RINGMASTER_ARCH})
set(CMAKE_C_COMPILER ${RINGMASTER_TOOLS}/cc)
set(CMAKE_AR ${RINGMASTER_TOOLS}/ar)
set(CMAKE_RANLIB ${RINGMASTER_TOOLS}/ranlib)
set(CMAKE_FIND_ROOT_PATH ${RINGMASTER_PREFIX})
set(CMAKE_PREFIX_PATH ${RINGMASTER_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(OPENSSL_USE_STATIC_LIBS ON)
set(RINGMASTER_C_LIBRARY "musl 1.2.5")

# As fast as the distributions' builds, without unused sections. Threads have stacks of the size
# that glibc gives them, as musl's default of 128 KiB is too little for libcurl's.
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,--gc-sections -Wl,-z,stack-size=8388608")
