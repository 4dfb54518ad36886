# Makefile — build/pxlc, build/libpxl.a, build/libpxl.so.
#
#   make            the tools            make test       every test (make test SAN=1: under ASan and UBSan)
#   make demo       train and test MNIST make bench      ratios against a peer
#   make install    DESTDIR and PREFIX   make bless      rewrite golden files from what is printed now
#   make deps       install what is missing (Debian packages)
#
# Products go to $(BUILD); nothing is written beside the sources.

BUILD  ?= build
CC     ?= gcc
PREFIX ?= /usr/local
SAN    ?=

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wwrite-strings
CFLAGS ?= -O2 -g
ifeq ($(SAN),1)
  BUILD := build/san
  CFLAGS := -O1 -g -fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
  LDSAN  := -fsanitize=address -fsanitize=undefined
endif
ALLCFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L $(CFLAGS) $(WARN) -ffp-contract=off -fvisibility=hidden -fPIC -I. -I$(BUILD)/gen -MMD -MP
LIBS   := -ltcc -ldnnl -lz -lm -ldl -lpthread

LIB_DIRS := lang/base lang compiler/ir compiler/ops compiler/elab compiler/transforms compiler/passes compiler/codegen compiler/api \
            runtime runtime/kernels runtime/device runtime/collective runtime/formats
LIB_SRC  := $(foreach d,$(LIB_DIRS),$(wildcard $(d)/*.c))
GEN_SRC  := $(if $(wildcard lang/grammar.y),$(BUILD)/gen/lang/grammar.c $(BUILD)/gen/lang/lexer.c) \
            $(BUILD)/gen/embed.c
CLI_SRC  := $(wildcard compiler/pxlc/*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/o/%.o) $(GEN_SRC:$(BUILD)/gen/%.c=$(BUILD)/o/gen/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/o/%.o)

.PHONY: all test demo bench install bless deps clean
all: $(BUILD)/libpxl.a $(if $(CLI_SRC),$(BUILD)/pxlc)

$(BUILD)/libpxl.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/pxlc: $(CLI_OBJ) $(BUILD)/libpxl.a
	$(CC) $(LDSAN) -rdynamic -o $@ $(CLI_OBJ) $(BUILD)/libpxl.a $(LIBS)

$(BUILD)/o/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) $(KFLAGS) -c -o $@ $<
$(BUILD)/o/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -Wno-unused-function -c -o $@ $<
$(BUILD)/o/runtime/kernels/%.o: KFLAGS := $(if $(SAN),,-O3) -fno-math-errno -fno-trapping-math

$(BUILD)/gen/lang/grammar.c: lang/grammar.y
	@mkdir -p $(@D)
	bison -Werror -o $@ --header=$(@:.c=.h) $<
$(BUILD)/gen/lang/lexer.c: lang/lexer.l $(BUILD)/gen/lang/grammar.c
	@mkdir -p $(@D)
	flex -o $@ --header-file=$(@:.c=.h) $<

# texts that travel in the binary: the standard library, and the header emitted C includes
EMBEDDED := $(sort $(wildcard lang/std/*.pxl)) runtime/pxlrt.h
$(BUILD)/gen/embed.c: tools/embed.sh $(EMBEDDED)
	@mkdir -p $(@D)
	sh tools/embed.sh $(EMBEDDED) > $@.tmp && mv $@.tmp $@

clean:
	rm -rf build

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
include tests/tests.mk
