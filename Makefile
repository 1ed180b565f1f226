# acputils: small Unix filters for Agent Client Protocol streams.
# Objects and programs are made below $(B); nothing is written elsewhere.
#
#   make            the programs, in build/bin (V=1 shows the commands)
#   make test       the tests that show each promise once (sets the machine up first, see scripts/bootstrap)
#   make test-all   every test, at its full size
#   make soak       what takes hours: many faults, many messages, all tests on a busy machine, packages, fleets
#   make demo       a recorded session through a chain, shown as a timeline
#   make SAN=1      with address and undefined behaviour sanitizers
#   make COV=1      with coverage
#   make PORTABLE=1 with what any system has (the form for macOS and the BSDs), without acp-http
#   make test-static   the tests of make test, with static programs
#   make test-model COUNT=2000   acp-usage and acp-stat against independent models, so many random sessions
#   make mutate COUNT=200 SEED=1 DIR=lib/redact   random changes of the code that no test notices
#   make deb static dist npm wheel    packages of each kind
#   make cross      compiled and linked for macOS and FreeBSD (not run)
#   make lint bench fuzz interop install uninstall clean

VERSION = 0.1.0
PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man
BASHCOMPDIR = $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR = $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR = $(PREFIX)/share/fish/vendor_completions.d
DESTDIR =

CC ?= cc
AR ?= ar
OPT ?= -O2 -g
WARN = -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
	-Wstrict-prototypes -Wmissing-prototypes
HARDEN = -fPIE -fstack-protector-strong
HARDENLD = -pie -Wl,-z,relro,-z,now

B = build
ifdef SAN
B := $(B)/san
OPT = -O1 -g -fno-omit-frame-pointer
HARDEN += -fsanitize=address,undefined -fno-sanitize-recover=all
else ifdef COV
B := $(B)/cov
OPT = -O0 -g --coverage
else
HARDEN += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif

# What differs between systems stands in files NAME_linux.c and NAME_portable.c. PORTABLE=1 takes the latter on Linux, too.
MACHINE := $(shell $(CC) -dumpmachine)
ifeq ($(if $(PORTABLE),,$(findstring linux,$(MACHINE))),linux)
OTHERS = %_portable.c
else
OTHERS = %_linux.c
ALL_CPPFLAGS = -include lib/base/missing.h
endif
ifdef PORTABLE
B := $(B)/portable
endif

# As many commands at once as there are processors, unless make was told how many.
# (make knows what its command line said only later; that wins over this.)
ifeq ($(MAKELEVEL)$(filter clean setup,$(MAKECMDGOALS)),0)
MAKEFLAGS += $(shell case $$MAKEFLAGS in (*j*) ;; (*) echo "-j$$(nproc 2>/dev/null || echo 2)" ;; esac)
endif

# say WHAT: the line that stands for a command; V=1 shows the command itself, -s neither.
SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(V)$(SILENT),,echo '$1';)
Q = $(if $(V),,@)

ALL_CPPFLAGS += -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. $(CPPFLAGS)
ALL_CFLAGS = $(WARN) $(OPT) $(HARDEN) $(CFLAGS)
ALL_LDFLAGS = $(HARDENLD) $(HARDEN) $(OPT) $(LDFLAGS)
LDLIBS = -ljq -lm

# acp-http alone needs libcurl, libnghttp2 and OpenSSL, and is left out where one is missing.
HAVE_HTTP := $(shell printf '\#include <%s>\n' curl/curl.h nghttp2/nghttp2.h openssl/ssl.h | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo yes)
# acp-export sends to a collector (--post) with libcurl, where that is there.
HAVE_CURL := $(shell printf '\#include <%s>\n' curl/curl.h | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo yes)
# acp-ask edits the lines of a conversation with GNU readline, where that is there.
HAVE_READLINE := $(shell printf '\#include <%s>\n' stdio.h readline/readline.h | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo yes)
# acp-top alone draws on the whole terminal, with ncurses for wide characters.
HAVE_CURSES := $(shell printf '\#include <%s>\n' curses.h | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo yes)
LEFT_OUT = $(if $(and $(HAVE_HTTP),$(filter %_portable.c,$(OTHERS))),,acp-http) $(if $(HAVE_CURSES),,acp-top)
TOOLS = $(filter-out $(LEFT_OUT),$(notdir $(patsubst %/,%,$(wildcard cmd/*/))))
PROGRAMS = $(TOOLS:%=$(B)/bin/%)
# The scanner with wide instructions is compiled once for each set of them.
WIDE_x86_64 = avx512 avx2 sse4
WIDE_aarch64 = neon
WIDE = $(WIDE_$(firstword $(subst -, ,$(MACHINE))))
FLAGS_avx512 = -mavx512bw -mavx512vl -mavx512vbmi2 -mbmi2 -mpopcnt -mpclmul
FLAGS_avx2 = -mavx2 -mbmi -mpopcnt -mpclmul
FLAGS_sse4 = -msse4.2 -mpopcnt -mpclmul

LIBSRC = $(filter-out lib/json/wide.c $(OTHERS),$(wildcard lib/*/*.c))
LIBOBJ = $(LIBSRC:%.c=$(B)/%.o) $(WIDE:%=$(B)/lib/json/wide-%.o)
LIB = $(B)/libacp.a
UNITS = $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))
UNITPROGRAMS = $(UNITS:%=$(B)/unit/%)
HELPERS = $(patsubst tests/helper/%.c,%,$(wildcard tests/helper/*.c))
HELPERPROGRAMS = $(HELPERS:%=$(B)/helper/%)
# A tool that is left out has no page here either.
MANPAGES = $(filter-out $(LEFT_OUT:%=man/%.1 man/acp-ws.1),$(wildcard man/*.[1-9]))
COMPLETIONS = $(foreach s,bash zsh fish,$(TOOLS:%=$(B)/completion/$s/%))

.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:
COUNT = 2000
.PHONY: all units helpers completions setup test test-all test-static check check-all soak test-model mutate demo lint cross bench fuzz interop install uninstall clean

all: $(PROGRAMS)
	$(if $(filter acp-http,$(LEFT_OUT)),@echo "acp-http was left out: $(if $(HAVE_HTTP),it needs Linux,its libraries were not found (Debian: libcurl4-openssl-dev libnghttp2-dev libssl-dev))")
	$(if $(filter acp-top,$(LEFT_OUT)),@echo "acp-top was left out: its library was not found (Debian: libncurses-dev)")

units: $(UNITPROGRAMS)

helpers: $(HELPERPROGRAMS)

$(LIB): $(LIBOBJ)
	@$(call say,AR $@) rm -f $@
	$(Q)$(AR) qcs $@ $^

$(B)/%.o: %.c
	@$(call say,CC $<) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(WIDE:%=$(B)/lib/json/wide-%.o): $(B)/lib/json/wide-%.o: lib/json/wide.c
	@$(call say,CC $< for $*) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(FLAGS_$*) -DWIDE_SET=$* -MMD -MP -c -o $@ $<

# A tool is all the .c files of its folder, and the library. (A % here would be the stem's.)
$(B)/bin/%: $$(addprefix $(B)/,$$(addsuffix .o,$$(basename $$(wildcard cmd/$$*/*.c)))) $(LIB)
	@$(call say,LD $@) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bin/acp-export: LDLIBS += -lmd4c
ifneq ($(HAVE_CURL),)
$(B)/bin/acp-export: LDLIBS += -lcurl
$(B)/cmd/acp-export/post.o: ALL_CPPFLAGS += -DHAVE_CURL
endif

# Its program for libjq is compiled in.
$(B)/cmd/acp-ask/ask.jq.inc: cmd/acp-ask/ask.jq
	@$(call say,GEN $@) mkdir -p $(@D)
	$(Q)od -v -A n -t u1 $< | sed 's/[0-9][0-9]*/&,/g' >$@
$(B)/cmd/acp-ask/put.o: $(B)/cmd/acp-ask/ask.jq.inc
$(B)/cmd/acp-ask/put.o: ALL_CPPFLAGS += -I$(B)

ifdef HAVE_READLINE
$(B)/bin/acp-ask: LDLIBS += -lreadline
$(B)/cmd/acp-ask/line.o: ALL_CPPFLAGS += -DHAVE_READLINE
endif

$(B)/bin/acp-top: LDLIBS += -lncursesw
$(B)/cmd/acp-top/%.o: ALL_CPPFLAGS += -DNCURSES_WIDECHAR

$(B)/bin/acp-http: LDLIBS = -lcurl -lnghttp2 -lssl -lcrypto -lm

# A unit named TOOL.PART has all of the tool's folder but its main.
tool = cmd/$(basename $*)
$(B)/unit/%: $(B)/tests/unit/%.o \
		$$(addprefix $(B)/,$$(addsuffix .o,$$(basename $$(filter-out $$(tool)/main.c,$$(wildcard $$(tool)/*.c))))) $(LIB)
	@$(call say,LD $@) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# Programs that the bats tests use.
$(B)/helper/%: $(B)/tests/helper/%.o $(LIB)
	@$(call say,LD $@) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bench/%: $(B)/tests/bench/%.o $(LIB)
	@$(call say,LD $@) mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# Completion for a shell, from the tool's help and the messages that tools know.
completions: $(COMPLETIONS)

define completion
$(B)/completion/$1/%: cmd/%/main.c scripts/completion/generate scripts/completion/common.$1 \
		lib/frame/frame_options.h lib/acp/acp.c cmd/acp-check/schema_tables.inc cmd/acp-check/rules.inc cmd/acp-tap/preview.c
	@$$(call say,GEN $$@) mkdir -p $$(@D)
	$$(Q)scripts/completion/generate $1 $$* >$$@
endef
$(foreach s,bash zsh fish,$(eval $(call completion,$s)))

setup:
	@scripts/bootstrap

test: setup
	@$(MAKE) --no-print-directory check

test-all: setup
	@$(MAKE) --no-print-directory check-all

# With musl and another jq than the system's.
test-static:
	@scripts/bootstrap static
	@MAKE_GOALS="all units helpers" scripts/packaging/static $$(uname -m)
	@B=build/static/$$(uname -m) scripts/run-tests

# What test and test-all run, without a look at what is installed.
check: all units helpers
	@B=$(B) scripts/run-tests

check-all: all units helpers
	@B=$(B) ACP_TEST_FULL=1 scripts/run-tests

soak: setup
	@$(MAKE) --no-print-directory all units helpers
	@B=$(B) tests/soak/run

test-model: all
	@PATH=$(CURDIR)/$(B)/bin:$$PATH python3 tests/model/usage.py --count $(COUNT)
	@PATH=$(CURDIR)/$(B)/bin:$$PATH python3 tests/model/stat.py --count $(COUNT)

# In a copy. Without COUNT 200 changes, without DIR in all of lib and cmd; ALL=1: what the directory's tests did not notice, with all.
mutate: setup
	@$(MAKE) --no-print-directory all units helpers
	@scripts/mutate $(if $(filter command line,$(origin COUNT)),--count $(COUNT)) $(SEED:%=--seed %) $(ALL:%=--all) $(DIR)

demo: setup
	@$(MAKE) --no-print-directory all
	@B=$(B) scripts/demo

lint:
	@scripts/lint

bench: all helpers
	+@B=$(B) tests/bench/run

fuzz:
	@tests/fuzz/run

# Every tool compiled and linked for macOS and FreeBSD.
cross:
	+@scripts/cross

interop: all helpers
	@B=$(B) tests/interop/run

install: all completions
	mkdir -p $(DESTDIR)$(BINDIR)
	for p in $(PROGRAMS); do install -m 755 $$p $(DESTDIR)$(BINDIR)/ || exit 1; done
	for m in $(MANPAGES); do \
		d=$(DESTDIR)$(MANDIR)/man$${m##*.}; \
		mkdir -p $$d && install -m 644 $$m $$d/ || exit 1; \
	done
	mkdir -p $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR)
	for t in $(TOOLS); do \
		install -m 644 $(B)/completion/bash/$$t $(DESTDIR)$(BASHCOMPDIR)/$$t && \
		install -m 644 $(B)/completion/zsh/$$t $(DESTDIR)$(ZSHCOMPDIR)/_$$t && \
		install -m 644 $(B)/completion/fish/$$t $(DESTDIR)$(FISHCOMPDIR)/$$t.fish || exit 1; \
	done

uninstall:
	for t in $(TOOLS); do \
		rm -f $(DESTDIR)$(BINDIR)/$$t $(DESTDIR)$(BASHCOMPDIR)/$$t \
			$(DESTDIR)$(ZSHCOMPDIR)/_$$t $(DESTDIR)$(FISHCOMPDIR)/$$t.fish; \
	done
	for m in $(MANPAGES); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; done

# Packages: build/deb, build/static, build/dist, build/npm, build/wheel. package-check tries them all.
.PHONY: deb static dist npm wheel package-check
deb static dist wheel:
	@scripts/bootstrap $(patsubst wheel,static,$@) && scripts/packaging/$@

npm:
	@scripts/bootstrap npm && scripts/packaging/npm-package

package-check:
	@scripts/bootstrap packages && scripts/packaging/check

clean:
	rm -rf $(B)

-include $(LIBOBJ:.o=.d) $(UNITS:%=$(B)/tests/unit/%.d) $(HELPERS:%=$(B)/tests/helper/%.d)
-include $(patsubst %.c,$(B)/%.d,$(wildcard cmd/*/*.c tests/bench/*.c))
