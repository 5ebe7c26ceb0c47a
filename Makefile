# pg_shuttle
#
#   make PG_CONFIG=..., make install PG_CONFIG=...     the extension alone, for one server
#   make test | test-all | test-ha | ci | lint | format | demo | postgres-fdw-tests | postgres-tests |
#     application-suites | docs     see CONTRIBUTING.md
#
# make test and make demo take PG=18 or another server of tools/servers; without it, the one
# of this machine's release.
#
# Settings: WERROR=1 makes warnings errors; TEST_POINTS=1 builds the points at
# which crash tests stop a server that has no injection points of its own;
# SANITIZE=1 builds with the address and undefined behaviour sanitizers.

MODULE_big = pg_shuttle
EXTENSION = pg_shuttle
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)
PGFILEDESC = "pg_shuttle - batched access to other servers"

HDRS = $(sort $(wildcard src/*.h src/*/*.h src/*/*/*.h src/*/*/*/*.h))
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c src/*/*/*/*.c)))

DATA = $(wildcard sql/$(EXTENSION)--*--*.sql)
DATA_built = sql/$(EXTENSION)--$(EXTVERSION).sql

# Flags that the code needs have "override", or "make PG_CFLAGS=..." drops them.
override PG_CPPFLAGS += -I$(srcdir)/src -I$(libpq_srcdir) \
	-D'PGDLLEXPORT=__attribute__((visibility("default")))' \
	-DSHUTTLE_VERSION='"$(EXTVERSION)"' \
	$(if $(filter 1,$(TEST_POINTS)),-DSHUTTLE_TEST_POINTS)
override PG_CFLAGS += -fvisibility=hidden \
	-Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	$(if $(filter 1,$(WERROR)),-Werror) $(SANITIZE_FLAGS)
SANITIZE_FLAGS = $(if $(filter 1,$(SANITIZE)),-fsanitize=address$(comma)undefined \
	-fno-sanitize-recover=undefined)
comma = ,
SHLIB_LINK = $(SANITIZE_FLAGS)
SHLIB_LINK_INTERNAL = $(libpq)

# ---------------------------------------------------------------- tests
# Against a running server: make installcheck, make installcheck REGRESS=name,
# make installcheck ISOLATION=name. One named kind leaves the others out.

named_tests = $(filter command line,$(origin $(1)))
NAMED_TESTS := $(strip $(foreach kind,REGRESS ISOLATION PROVE_TESTS,$(call named_tests,$(kind))))

ifeq ($(NAMED_TESTS),)
REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
PROVE_TESTS = $(sort $(wildcard test/t/*.pl))
endif
ifneq ($(PROVE_TESTS),)
TAP_TESTS = 1
endif

# From 16 on the expected files have a directory option of their own.
EXPECTED_OPT = $(if $(filter-out 15,$(MAJORVERSION)),--expecteddir=$(srcdir)/test)
REGRESS_OPTS = --inputdir=$(srcdir)/test $(EXPECTED_OPT)
ISOLATION_OPTS = --inputdir=$(srcdir)/test $(EXPECTED_OPT)

# ---------------------------------------------------------------- build

EXTRA_CLEAN = build site .built-for .linked-from .venv .ruff_cache .mypy_cache .pytest_cache \
	.venv.lock $(wildcard python/*.egg-info) \
	$(wildcard python/*/__pycache__ python/*/*/__pycache__ tools/__pycache__ tools/*/__pycache__)

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq ($(PGXS),)
# No bitcode: it lets a server with JIT inline an extension's small functions into
# expressions, and we have none that are called there. Building takes half as long.
override with_llvm = no
include $(PGXS)

# Objects of another server, or of other flags, are compiled anew. PGXS of
# packaged servers tracks no headers, so each object depends on all of ours.
BUILT_FOR := $(strip $(VERSION) $(pkglibdir) $(WERROR) $(TEST_POINTS) $(SANITIZE))
ifneq ($(BUILT_FOR),$(strip $(shell cat .built-for 2>/dev/null)))
$(shell echo '$(BUILT_FOR)' >.built-for)
endif
$(OBJS): $(HDRS) Makefile .built-for

# A source that is gone leaves the library, too.
ifneq ($(OBJS),$(strip $(shell cat .linked-from 2>/dev/null)))
$(shell echo '$(OBJS)' >.linked-from)
endif
$(MODULE_big)$(DLSUFFIX): .linked-from

# Debian's package would lose its library, and its next upgrade would replace ours.
LIBRARY = $(pkglibdir)/$(MODULE_big)$(DLSUFFIX)
install: not-packaged
not-packaged:
	@if test -z "$(DESTDIR)" && package=$$(dpkg-query -S '$(LIBRARY)' 2>/dev/null); then \
		echo "$(LIBRARY) is of the package $${package%%:*}: remove it first (apt-get remove $${package%%:*})," \
			"or build a package (docs/start.md)." >&2; \
		exit 1; \
	fi
.PHONY: not-packaged
else
all install clean installcheck:
	@echo 'No server headers found by "$(PG_CONFIG)". Install them (Debian: postgresql-server-dev-NN and libpq-dev),' \
		'or give PG_CONFIG=/path/to/pg_config.' >&2
	@$(if $(filter clean,$@),rm -rf $(EXTRA_CLEAN) $(DATA_built) $(OBJS) $(MODULE_big).so,exit 1)
endif

sql/$(EXTENSION)--$(EXTVERSION).sql: sql/$(EXTENSION).sql $(EXTENSION).control
	cp $< $@

# ---------------------------------------------------------- development

test:
	tools/servers need $(PG)
	tools/run_tests --part usual $(PG:%=--pg %) $(TEST_OPTS)

# STAGES="packages sanitizers": only these, of tools/test_all.
test-all:
	tools/servers need
	tools/test_all $(STAGES)

# What CI runs, on a fresh clone of the last commit.
ci:
	tools/ci

# Failovers under load; needs tools/servers install ha, else it says that it was skipped.
test-ha:
	tools/venv
	tools/ha_faults $(TEST_HA_OPTS)

lint:
	tools/lint

format:
	tools/format

demo:
	tools/demo $(PG:%=--pg %) $(DEMO_OPTS)

postgres-fdw-tests:
	tools/postgres_fdw_tests $(POSTGRES_FDW_TESTS_OPTS)

postgres-tests:
	tools/postgres_tests $(POSTGRES_TESTS_OPTS)

application-suites:
	tools/venv
	tools/application_suites $(APPLICATION_SUITES_OPTS)

# The site of docs/, in site/
docs:
	tools/venv
	NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build

.PHONY: test test-all ci test-ha lint format demo postgres-fdw-tests postgres-tests application-suites docs
