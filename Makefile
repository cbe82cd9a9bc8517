# SPDX-License-Identifier: MIT
# bide: stackful coroutines for servers
#
#   make               both libraries, built out of tree in $(O)
#   make demo          tasks against threads on real sockets; needs only a compiler
#   make setup         install what the tests need, through the system's package manager
#   make setup-peers   install what the benchmarks compare with, and a browser for the tests of the trace pages
#   make check         build and run the tests; some of them: make check T="test_timer test_coro*"
#   make valgrind      the tests under memcheck; some of them: VALGRIND_TESTS="..."
#   make lint          include direction, headers, symbols, text, analysers
#   make bench         build and run the benchmarks: BENCH_ARGS=--quick; make bench-build only builds
#   make examples      build docs/examples
#   make docs          the guide, the manual and all else for a browser: $(O)/html/index.html
#   make trace-demo    pages that step through the runs of three examples: $(O)/trace; PICTURES=dir
#   make install       honours DESTDIR, prefix, includedir, libdir, datadir, mandir, docdir; make uninstall undoes it
#   make dist          an archive of the last commit
#   make deb           Debian packages of it
#   make abi           list new names, compare types with the last release
#   make amalgamation  the library as one source file, one header and one of assembly; and tests them
#   make clean         remove $(O)
#
# Variables
#   ARCH=aarch64       cross compile, and run under qemu-user where the host is another processor
#   SAN=...            address,undefined or thread
#   HOSTILE=1          made to give bugs a chance: src/base/hostile.h; SEED=n for another run of it
#   CC= CXX= CFLAGS= LDFLAGS=   changing one of them rebuilds everything
#   WERROR=1           warnings are errors
#   O=dir              where the output goes; each ARCH, SAN and HOSTILE has its own directory below build/
#   JOBS=n             test programs at a time; 1, since many of them look at the clock
#   SCALE=n            how much slower than a plain native build the tests are expected to be
#   V=1                print the commands

MAKEFLAGS += --no-builtin-rules
all:

# `make setup check`: what is looked for below has to be installed by then, so make begins again after it.
ifneq ($(and $(filter setup,$(MAKECMDGOALS)),$(filter-out setup,$(MAKECMDGOALS))),)
ifeq ($(MAKE_RESTARTS)$(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),)
include $(shell mkdir -p build && : >>build/installed.mk && echo build/installed.mk)
build/installed.mk: FORCE
	@sh test/setup.sh && touch $@
endif
endif

# ---- tools

HOST := $(shell uname -m)
ifeq ($(origin CC),default)
CC := $(if $(filter-out $(HOST),$(ARCH)),$(ARCH)-linux-gnu-gcc,cc)
endif
ifeq ($(origin CXX),default)
CXX := $(patsubst cc,c++,$(subst clang,clang++,$(subst gcc,g++,$(CC))))
endif
ifndef ARCH
ARCH := $(or $(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1),$(HOST))
endif
ifeq ($(wildcard arch/$(ARCH)/.),)
$(error no port for ARCH=$(ARCH): see docs/porting.md)
endif

FOREIGN := $(filter-out $(HOST),$(ARCH))
CROSS   := $(FOREIGN:%=%-linux-gnu-)
ifeq ($(origin AR),default)
AR := $(CROSS)ar
endif
OBJCOPY ?= $(CROSS)objcopy
NM      ?= $(CROSS)nm
READELF ?= $(CROSS)readelf
PKG_CONFIG ?= $(FOREIGN:%=PKG_CONFIG_LIBDIR=/usr/lib/%-linux-gnu/pkgconfig) pkg-config
MEMCHECK   ?= valgrind -q --error-exitcode=99 --leak-check=full --child-silent-after-fork=yes \
              $(addprefix --suppressions=,$(wildcard test/suppressions/valgrind))

comma := ,
space := $() $()
VARIANT := $(FOREIGN) $(SAN:%=san-$(subst $(comma),-,$(SAN))) $(VALGRIND:%=valgrind) $(HOSTILE:%=hostile)
O       ?= build$(addprefix /,$(subst $(space),-,$(strip $(VARIANT))))

# ---- flags

-include arch/$(ARCH)/flags.mk
have = $(shell $(CC) -Werror $(1) -fsyntax-only -x c /dev/null 2>/dev/null && echo $(1))

CFLAGS ?= -O2 -g
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
WARN     := -Wall -Wextra -Wshadow $(if $(WERROR),-Werror)
CWARN    := -std=c11 -Wstrict-prototypes -Wmissing-prototypes -Wvla
BASE      = $(WARN) -D_GNU_SOURCE -Iinclude -pthread $(SANITIZE) $(CPPFLAGS) $(CFLAGS)

# How the library, and the tests that look into it, are compiled. initial-exec: the current loop is
# read in every call, and a call of __tls_get_addr there would cost more than a switch does. Functions begin on a cache
# line: where one happens to lie moved a yield by a quarter from one build to the next.
CODEGEN  := -fPIC -fvisibility=hidden -ftls-model=initial-exec \
            $(call have,-fstack-clash-protection) $(call have,-falign-functions=64) $(ARCH_CFLAGS)
INTERNAL := $(CODEGEN) -Isrc -Iarch -Iarch/$(ARCH) $(if $(VALGRIND),-DBIDE_VALGRIND) \
            $(if $(HOSTILE),-DBIDE_HOSTILE)
LINK      = $(CODEGEN) -pthread $(SANITIZE) $(CFLAGS) $(LDFLAGS)

# ---- files

obj      = $(patsubst %,$(O)/%.o,$(basename $(sort $(wildcard $(1)))))
program  = $(patsubst $(1),$(O)/$(2),$(filter $(1),$(3)))

OBJ     := $(call obj,src/*/*.c arch/$(ARCH)/*.c arch/$(ARCH)/*.S)
LIBA    := $(O)/libbide.a
LIBSO   := $(O)/libbide.so.0

T       ?= test_*
TESTS   := $(sort $(wildcard $(foreach t,$(T),$(if $(suffix $t),test/$t,$(addprefix test/$t,.c .cpp .sh)))))
ifdef VALGRIND
TESTS   := $(filter %.c %.cpp,$(shell grep -L 'valgrind: skip' $(TESTS) /dev/null))
endif
TEST_C   := $(call program,%.c,%,$(TESTS))
TEST_CXX := $(call program,%.cpp,%,$(TESTS))
TEST_SH  := $(filter %.sh,$(TESTS))
SUPPORT  := $(call obj,test/support/*.c test/support/$(ARCH)/*.c test/support/$(ARCH)/*.S)

# -lNAME if there is a library of that name and its header.
linked = $(shell echo 'int main(void) { return 0; }' | $(CC) -include $(1).h -x c - -l$(1) -o /dev/null 2>/dev/null && echo -l$(1))

BENCH    := $(call program,%.c,%,$(sort $(wildcard bench/*.c)))
HARNESS  := $(call obj,bench/common/*.c bench/peers/*.c)
BENCH_TOOLS := $(O)/bench/report $(O)/bench/compare
EXAMPLES := $(call program,docs/%.c,%,$(sort $(wildcard docs/examples/*.c)))
# httpd needs one of the libraries that parse HTTP.
ifneq ($(filter examples check bench bench-build,$(MAKECMDGOALS)),)
HTTP_PARSER := $(or $(call linked,llhttp),$(call linked,http_parser))
endif
EXAMPLES := $(if $(HTTP_PARSER),$(EXAMPLES),$(filter-out %/httpd,$(EXAMPLES)))
DEMO     := $(call obj,demo/*.c)

# Boost.Context and Boost.Fiber are measured against where they can be linked.
boost = $(shell echo 'int main() {}' | $(CXX) -include boost/$(1) -x c++ - $(2) -o /dev/null 2>/dev/null && echo '$(2)')
ifneq ($(findstring bench,$(MAKECMDGOALS)),)
BOOST := $(call boost,context/detail/fcontext.hpp,-lboost_context)
FIBER := $(if $(BOOST),$(call boost,fiber/all.hpp,-lboost_fiber -lboost_context))
HARNESS += $(if $(BOOST),$(call obj,bench/peers/*.cpp))
PEERS   := $(call linked,uv) $(call linked,ev)
endif

# ---- objects

Q   := $(if $(V),,@)
say  = @mkdir -p $(@D)$(if $(V),,; printf '  %-5s %s\n' $(1) $@)

# Every object depends on this file, which changes when a tool or a flag does. Before anything is
# compiled, `make check` has found what the tests need.
first := $(if $(filter check,$(MAKECMDGOALS)),have-check)
stamp := $(CC) $(CXX) $(INTERNAL) $(BASE) $(LDFLAGS)
ifneq ($(stamp),$(file <$(O)/flags))
$(O)/flags: FORCE
endif
$(O)/flags: Makefile | $(first)
	@mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(stamp))' >$@

$(O)/src/%.o $(O)/arch/%.o: USE = $(INTERNAL)
$(O)/test/%.o:  USE = $(INTERNAL) -Itest -Itest/support $(call libcheck,--cflags)
$(O)/bench/%.o: USE = -iquote bench -iquote bench/common $(if $(BOOST),-DHAVE_BOOST_CONTEXT) $(if $(FIBER),-DHAVE_BOOST_FIBER) \
                       $(if $(filter -luv,$(PEERS)),-DHAVE_UV) $(if $(filter -lev,$(PEERS)),-DHAVE_EV) \
                       -DBENCH_CFLAGS='"$(CFLAGS)"'
$(O)/demo/%.o:  USE = -Idemo
# An example is compiled as its reader would do it, and has to be clean.
$(O)/docs/%.o: BASE = -Wall -Wextra -Werror -Iinclude $(SANITIZE) $(CFLAGS)

$(O)/%.o: %.c $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(CWARN) $(BASE) $(USE) -MMD -MP -c -o $@ $<

$(O)/%.o: %.S $(O)/flags
	$(call say,AS)
	$(Q)$(CC) $(BASE) $(USE) -MMD -MP -c -o $@ $<

$(O)/%.o: %.cpp $(O)/flags
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 $(BASE) $(USE) -MMD -MP -c -o $@ $<

# ---- libraries

# One relocatable object whose hidden symbols are made local, so that an internal name cannot clash
# with one in the user's program. Under -flto it is this link that has to generate the code; clang
# does so by itself, gcc has to be told.
LTO := $(if $(findstring -flto,$(CFLAGS)),$(CODEGEN) $(CFLAGS) \
         $(if $(findstring clang,$(shell $(CC) --version)),,-flinker-output=nolto-rel))
$(LIBA): $(OBJ)
	$(call say,AR)
	$(Q)$(CC) -r -nostdlib $(LTO) -o $(O)/bide.o $(OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(O)/bide.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(O)/bide.o

# A sanitizer's names come with the program: they may stay undefined here.
$(LIBSO): $(OBJ) src/bide.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/bide.map -Wl,-z,text,-z,relro,-z,now \
	  $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(OBJ) $(LINK)
	$(Q)ln -sf $(@F) $(O)/libbide.so

# ---- programs

$(TEST_C): %: %.o $(SUPPORT) $(OBJ)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $^ $(LINK) $(call libcheck,--libs)

$(TEST_CXX): %: %.o $(SUPPORT) $(OBJ)
	$(call say,LINK)
	$(Q)$(CXX) -o $@ $^ $(LINK) $(call libcheck,--libs)

# An archive, so that each program takes only what it uses of the harness and of the peers.
$(O)/bench/harness.a: $(HARNESS)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What reads the results, and knows nothing of bide.
$(BENCH_TOOLS): $(O)/bench/%: $(O)/bench/tools/%.o $(call obj,$(filter-out %/report.c %/compare.c,$(wildcard bench/tools/*.c)))
	$(call say,LINK)
	$(Q)$(CC) -o $@ $^ $(LINK) -lm

$(BENCH): %: %.o $(O)/bench/harness.a $(LIBA)
	$(call say,LINK)
	$(Q)$(if $(BOOST),$(CXX),$(CC)) -o $@ $^ $(LINK) -Wl,--as-needed $(FIBER) $(BOOST) $(PEERS) -lm

$(EXAMPLES): $(O)/examples/%: $(O)/docs/examples/%.o $(LIBA)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $^ $(LINK) $(if $(filter httpd,$*),$(HTTP_PARSER))

$(O)/demo/demo: $(DEMO) $(LIBA)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $^ $(LINK) -lm

# ---- targets

# Without -L: under it, a process that qemu 7.2 forks never ends. The foreign libraries are found where
# `make setup` has put them.
RUNNER ?= $(FOREIGN:%=qemu-% -cpu max$(comma)pauth-impdef=on)
SCALE  ?= $(if $(VALGRIND),30,$(if $(RUNNER),10,$(if $(SAN),5,$(if $(HOSTILE),3,1))))
ENV     = ARCH='$(ARCH)' O='$(O)' CC='$(CC)' CXX='$(CXX)' NM='$(NM)' READELF='$(READELF)' \
          SAN='$(SAN)' HOSTILE='$(HOSTILE)' SEED='$(SEED)' CFLAGS='$(CFLAGS)' RUNNER='$(RUNNER)' BIDE_TEST_SCALE='$(SCALE)' JOBS='$(JOBS)'

all: $(LIBA) $(LIBSO)

libcheck = $(shell $(PKG_CONFIG) $(1) check)
found    = $(if $(shell $(1) >/dev/null 2>&1 && echo yes),,$(error $(2): run `make setup`))
have-check:
	$(call found,$(PKG_CONFIG) --exists check,the tests need libcheck$(FOREIGN:%= for %) and pkg-config)
	$(if $(RUNNER),$(call found,command -v $(firstword $(RUNNER)),there is no $(firstword $(RUNNER))))

check: $(TEST_C) $(TEST_CXX) $(if $(TEST_SH),all examples)
	$(if $(TESTS),,$(error there is no test of the name T=$(T)))
	@$(ENV) sh test/tools/run.sh $(TEST_C) $(TEST_CXX) $(TEST_SH)

VALGRIND_TESTS ?= $(T)
valgrind:
	@$(MAKE) --no-print-directory check VALGRIND=1 T='$(VALGRIND_TESTS)' RUNNER='$(MEMCHECK)'

lint: all
	@$(ENV) FLAGS='$(CWARN) $(BASE) $(INTERNAL)' sh test/lint/all.sh

bench-tools: $(BENCH_TOOLS)
bench-build: $(BENCH) $(BENCH_TOOLS) $(filter %/httpd,$(EXAMPLES))
bench: bench-build
	@$(ENV) JOBS=1 TEST_TIMEOUT=3600 ARGS='$(BENCH_ARGS)' sh bench/tools/run.sh $(BENCH)

docs:
	@sh docs/html/build.sh $(O)/html

examples: $(EXAMPLES)
	$(if $(HTTP_PARSER),,@echo 'examples: httpd is not built: there is neither llhttp nor http-parser here')
trace-demo: $(EXAMPLES)
	@$(ENV) sh docs/trace/demo.sh $(O)/trace $(PICTURES)
demo: $(O)/demo/demo
	@$(RUNNER) $< $(DEMO_ARGS)

include package/package.mk

setup:
	@$(if $(MAKE_RESTARTS),:,sh test/setup.sh)

setup-peers:
	@sh test/setup.sh peers

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

clean:
	rm -rf $(O)

FORCE:
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all have-check check valgrind lint bench-tools bench-build bench docs examples demo trace-demo setup setup-peers help clean FORCE
-include $(patsubst %.o,%.d,$(OBJ) $(SUPPORT) $(HARNESS) $(DEMO)) $(EXAMPLES:$(O)/%=$(O)/docs/%.d) \
         $(patsubst %,%.d,$(TEST_C) $(TEST_CXX) $(BENCH))
