# SPDX-License-Identifier: MIT
# How bide is handed on: an installed tree, an archive of the sources, the sources as one file.

prefix     ?= /usr/local
includedir ?= $(prefix)/include
libdir     ?= $(prefix)/lib
datadir    ?= $(prefix)/share
mandir     ?= $(datadir)/man
docdir     ?= $(datadir)/doc/bide
# What the manual pages' names end with once somebody has compressed them: links of the texts say it.
mansuffix  ?=
version     = $(shell sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)
PACKAGE     = DESTDIR='$(DESTDIR)' prefix='$(prefix)' includedir='$(includedir)' libdir='$(libdir)' \
              datadir='$(datadir)' mandir='$(mandir)' mansuffix='$(mansuffix)' docdir='$(docdir)' version='$(version)' O='$(O)'

install: all
	@$(PACKAGE) sh package/install.sh install

uninstall:
	@$(PACKAGE) sh package/install.sh uninstall

dist:
	@$(PACKAGE) sh package/dist.sh

deb: dist
	@version='$(version)' O='$(O)' sh package/deb.sh

# The list of exported names is brought up to date; types are compared with the last release.
abi: all
	@$(PACKAGE) NM='$(NM)' sh package/abi.sh update

AMALGAMATION := $(O)/amalgamation/bide.c
$(AMALGAMATION): $(wildcard package/amalgamate.* include/*.h include/*/*.h src/*/*.[ch] arch/*.h arch/*/*.[hS])
	@$(PACKAGE) sh package/amalgamate.sh

amalgamation: all $(AMALGAMATION)
	@$(ENV) sh test/tools/run.sh test/test_amalgamation.sh

check: $(if $(filter test/test_amalgamation.sh,$(TEST_SH)),$(AMALGAMATION))

.PHONY: install uninstall dist deb abi amalgamation
