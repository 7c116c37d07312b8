# Short names for the commands in docs/contributing/testing.md.
PRESET ?= release
BUILD = build/$(PRESET)

.PHONY: help configure build test unit all lint docs site format generate

help:             ## list these names
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1	\2/p' Makefile | expand -t 20

configure:        ## make the folder build/PRESET (PRESET=release)
	. tests/building.sh && cmake --preset $(PRESET)

build: configure  ## compile everything
	cmake --build $(BUILD) --parallel

test: build       ## run the tests whose name matches T: make test T=master_phase
	ctest --test-dir $(BUILD) -R "$(T)" --output-on-failure

unit:             ## install packages, build, run unit tests and lints
	sh tests/run.sh unit $(PRESET)

all:              ## the same and whole jobs, as root
	sh tests/run.sh all $(PRESET)

lint: build       ## rules for sources
	ctest --test-dir $(BUILD) -R "^lint_" --output-on-failure

docs: build       ## rules for the pages
	ctest --test-dir $(BUILD) -R "^docs_" --output-on-failure

site:             ## the documentation as a web site in build/site
	sh tests/docs/site.sh

format:           ## lay sources out as .clang-format says
	git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

generate: build   ## write the reference pages anew
	sh docs/generate.sh $(BUILD)/bin
