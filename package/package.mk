# SPDX-License-Identifier: MIT
# How bide is handed on: an installed tree, an archive of the sources.

prefix     ?= /usr/local
includedir ?= $(prefix)/include
libdir     ?= $(prefix)/lib
datadir    ?= $(prefix)/share
mandir     ?= $(datadir)/man
docdir     ?= $(datadir)/doc/bide
version     = $(shell sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)
PACKAGE     = DESTDIR='$(DESTDIR)' prefix='$(prefix)' includedir='$(includedir)' libdir='$(libdir)' \
              datadir='$(datadir)' mandir='$(mandir)' docdir='$(docdir)' version='$(version)' O='$(O)'

install: all
	@$(PACKAGE) sh package/install.sh install

uninstall:
	@$(PACKAGE) sh package/install.sh uninstall

dist:
	@$(PACKAGE) sh package/dist.sh

.PHONY: install uninstall dist
