# Settings with which tests and measurements build; source it from the root of the tree.
# shellcheck shell=sh

# With ccache all presets, folders and trees share what has been compiled once.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER:-ccache}"
    export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"
    # ccache compares paths below the tree relative to the build's folder.
    export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
fi

# With Make, two hundred targets are two hundred passes over the tree: a minute with nothing to do.
# An existing folder keeps its generator.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"
fi

# targets FOLDER PATTERN: prints the targets of FOLDER that match the extended regular expression.
targets() {
    cmake --build "$1" --target help | sed -nE 's/^(\.\.\. )?([A-Za-z0-9_-]+)(: phony)?$/\2/p' |
        grep -xE "$2"
}
