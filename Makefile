# Makefile — build/pxlc, build/libpxl.a, build/libpxl.so.
#
#   make            the tools            make test       every test; T="NAME…" chooses some; SAN=1: under ASan and UBSan; SAN=thread: TSan
#   make demo       train and test MNIST make bench      ratios against peers (make deps-bench)
#   make install    DESTDIR and PREFIX   make bless      rewrite golden files from what is printed now
#   make deps       install what is missing (Debian packages)
#
# V=1 shows the commands whole; without -j every processor is used.
# Products go to $(BUILD); nothing is written beside the sources.

ifeq ($(filter -j%,$(MAKEFLAGS)),)
  MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
say = @$(if $(V),,echo '  $1';)

BUILD  ?= build
CC     ?= gcc
PREFIX ?= /usr/local
SAN    ?=
SONAME := libpxl.so.0

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wwrite-strings
CFLAGS ?= -O2 -g
ifeq ($(SAN),1)
  BUILD := build/san
  CFLAGS := -O1 -g -fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
  LDSAN  := -fsanitize=address -fsanitize=undefined
endif
ifeq ($(SAN),thread)
  BUILD := build/tsan
  CFLAGS := -O1 -g -fsanitize=thread
  LDSAN  := -fsanitize=thread
endif
ifeq ($(FUZZ),1)
  BUILD := build/fuzz
  CC := clang
  CFLAGS := -O1 -g -fsanitize=fuzzer-no-link -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined
endif
ALLCFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L $(CFLAGS) $(WARN) -ffp-contract=off -fvisibility=hidden -fPIC -I. -I$(BUILD)/gen -MMD -MP
LIBS   := -lz -lm -ldl -lpthread

LIB_DIRS := lang/base lang compiler/ir compiler/ops compiler/elab compiler/transforms compiler/passes compiler/codegen compiler/api \
            runtime runtime/kernels runtime/device runtime/collective runtime/formats
# runtime/kernels/vec is compiled once per instruction set: o/runtime/kernels/vec/NAME.SET.o, with set_SET.h in front
VEC_SRC  := $(wildcard runtime/kernels/vec/*.c)
VEC_SETS := base $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),avx2 avx512)
VEC_OBJ  := $(foreach s,$(VEC_SETS),$(VEC_SRC:%.c=$(BUILD)/o/%.$s.o)) \
            $(if $(filter avx512,$(VEC_SETS)),$(patsubst %,$(BUILD)/o/runtime/kernels/vec/%.avx512_bf16.o,gemm_bf16 table))
LIB_SRC  := $(foreach d,$(LIB_DIRS),$(wildcard $(d)/*.c))
GEN_SRC  := $(if $(wildcard lang/grammar.y),$(BUILD)/gen/lang/grammar.c $(BUILD)/gen/lang/lexer.c) \
            $(BUILD)/gen/embed.c
CLI_SRC  := $(wildcard compiler/pxlc/*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/o/%.o) $(VEC_OBJ) $(GEN_SRC:$(BUILD)/gen/%.c=$(BUILD)/o/gen/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/o/%.o)
OWN_OBJ  := $(BUILD)/o/tcc.o $(BUILD)/o/archive.o

.PHONY: all test demo bench install bless deps clean
all: $(BUILD)/libpxl-internal.a $(BUILD)/libpxl.a $(if $(CLI_SRC),$(if $(SAN),,$(BUILD)/libpxl.so) $(BUILD)/pxlc)

# What tests link: every symbol is there.
$(BUILD)/libpxl-internal.a: $(LIB_OBJ) $(OWN_OBJ)
	$(call say,ar $@) rm -f $@ && ar rcs $@ $^

# What is installed: one object in which only the functions of pxl.h are visible, so that a host may have a node_new too.
$(BUILD)/o/public.txt: compiler/api/pxl.h
	@mkdir -p $(@D)
	@sed -n 's/^PXL_API.*[ *]\(pxl_[a-z0-9_]*\)(.*/\1/p' $< > $@
$(BUILD)/o/libpxl.o: $(LIB_OBJ) $(OWN_OBJ) $(BUILD)/o/public.txt
	$(call say,ld $@) $(LD) -r -d -o $@.tmp $(LIB_OBJ) $(OWN_OBJ)
	@objcopy --keep-global-symbols=$(BUILD)/o/public.txt $@.tmp $@ && rm $@.tmp
$(BUILD)/libpxl.a: $(BUILD)/o/libpxl.o
	$(call say,ar $@) rm -f $@ && ar rcs $@ $^
$(BUILD)/$(SONAME): $(BUILD)/o/libpxl.o
	@echo '{ global: pxl_*; local: *; };' > $(BUILD)/o/libpxl.map
	$(call say,ld $@) $(CC) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs -Wl,-z,text -Wl,--version-script=$(BUILD)/o/libpxl.map -o $@ $< $(LIBS)
$(BUILD)/libpxl.so: $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

# The runtime alone: what `pxlc build` ships. It travels inside libpxl (runtime_archive).
RT_OBJ := $(filter-out $(BUILD)/o/runtime/formats/%,$(filter $(BUILD)/o/runtime/%,$(LIB_OBJ)))
$(BUILD)/libpxlrt.a: $(RT_OBJ)
	@rm -f $@
	$(call say,ld $@) $(LD) -r -o $(BUILD)/o/pxlrt.o.tmp $(RT_OBJ)
	@objcopy -g --wildcard --keep-global-symbol='rt_*' --keep-global-symbol='dtype_*' $(BUILD)/o/pxlrt.o.tmp $(BUILD)/o/pxlrt.o
	@rm $(BUILD)/o/pxlrt.o.tmp
	@ar rcs $@ $(BUILD)/o/pxlrt.o
$(BUILD)/o/archive.o: $(BUILD)/libpxlrt.a
	@printf '.section .rodata\n.globl runtime_archive, runtime_archive_end\nruntime_archive: .incbin "$<"\nruntime_archive_end: .byte 0\n.section .note.GNU-stack,"",@progbits\n' \
		| $(CC) -c -x assembler -o $@ -

# A copy of libtcc that cannot exit, and keeps its hands off the host's memory and variables: see jit_tcc.c.
LIBTCC ?= $(shell $(CC) -print-file-name=libtcc.a 2>/dev/null)
TCC_REDIRECT := malloc=jit_tcc_malloc calloc=jit_tcc_calloc realloc=jit_tcc_realloc free=jit_tcc_release \
                exit=jit_tcc_exit abort=jit_tcc_abort mprotect=jit_tcc_mprotect \
                sem_init=jit_tcc_sem_init sem_wait=jit_tcc_sem_wait sem_post=jit_tcc_sem_post \
                stdout=jit_tcc_stdout stderr=jit_tcc_stderr environ=jit_tcc_environ
$(BUILD)/o/tcc.o: $(LIBTCC)
	@mkdir -p $(@D)
	$(call say,ld $@) $(LD) -r --whole-archive $< -o $@.tmp
	@objcopy $(TCC_REDIRECT:%=--redefine-sym %) --rename-section .bss=tcc_bss $@.tmp $@ && rm $@.tmp

$(BUILD)/pxlc: $(CLI_OBJ) $(BUILD)/libpxl.a
	$(call say,ld $@) $(CC) $(LDSAN) -rdynamic -o $@ $(CLI_OBJ) $(BUILD)/libpxl.a $(LIBS)

$(BUILD)/o/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) $(KFLAGS) -c -o $@ $<
define VEC_RULE
$(BUILD)/o/runtime/kernels/vec/%.$1.o: runtime/kernels/vec/%.c
	@mkdir -p $$(@D)
	$$(call say,cc $$<, $1) $$(CC) $$(ALLCFLAGS) $$(KFLAGS) -include runtime/kernels/vec/set_$1.h -c -o $$@ $$<
endef
$(foreach s,$(VEC_SETS) $(if $(filter avx512,$(VEC_SETS)),avx512_bf16),$(eval $(call VEC_RULE,$s)))
$(BUILD)/o/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) -Wno-unused-function -c -o $@ $<
$(LIB_SRC:%.c=$(BUILD)/o/%.o): | $(GEN_SRC)        # for the generated headers
$(BUILD)/o/runtime/kernels/%.o: KFLAGS := $(if $(SAN),,-O3) -fno-math-errno -fno-trapping-math
$(BUILD)/o/runtime/rng.o $(BUILD)/o/runtime/formats/digits.o: KFLAGS := $(if $(SAN),,-O3) -fno-math-errno -fno-trapping-math

$(BUILD)/gen/lang/grammar.c: lang/grammar.y
	@mkdir -p $(@D)
	$(call say,bison $<) bison -Werror -o $@ --header=$(@:.c=.h) $<
$(BUILD)/gen/lang/grammar.h: $(BUILD)/gen/lang/grammar.c ;
$(BUILD)/gen/lang/lexer.c: lang/lexer.l $(BUILD)/gen/lang/grammar.c
	@mkdir -p $(@D)
	$(call say,flex $<) flex -o $@ --header-file=$(@:.c=.h) $<

# texts that travel in the binary: the standard library, and headers that emitted C, shipped C and native files include
EMBEDDED := $(sort $(wildcard lang/std/*.pxl)) runtime/pxlrt.h runtime/runtime.h runtime/base.h runtime/dtype.def \
            compiler/api/pxl.h compiler/api/host_call.h
$(BUILD)/gen/embed.c: tools/embed.sh $(EMBEDDED)
	@mkdir -p $(@D)
	$(call say,embed $@) sh tools/embed.sh $(EMBEDDED) > $@.tmp && mv $@.tmp $@

# Only pxl.h is public. DESTDIR is where packagers stage; PREFIX is what the installed files believe in.
VERSION = $(shell sed -n 's/^.define PXL_VERSION_[MP][AI][A-Z]* *\([0-9]*\)$$/\1/p' compiler/api/pxl.h | paste -sd.)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install $(BUILD)/pxlc $(DESTDIR)$(PREFIX)/bin/
	install -m 644 compiler/api/pxl.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(BUILD)/libpxl.a $(BUILD)/$(SONAME) $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libpxl.so
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' compiler/api/pxl.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/pxl.pc

clean:
	rm -rf build

# Making this file installs what is missing; make then reads everything anew.
ifneq ($(MAKECMDGOALS),clean)
include build/deps.mk
endif
build/deps.mk: tools/deps.sh
	@mkdir -p build
	@sh tools/deps.sh
	@echo "# what tools/deps.sh found is enough" > $@
deps:
	@sh tools/deps.sh

# The newcomer's first command: train the tutorial's network and test it, on MNIST if it is there, else on drawn digits.
demo: all
	@mkdir -p build/demo
	$(BUILD)/pxlc train examples/mnist.pxl --save build/demo/mnist.safetensors
	$(BUILD)/pxlc test examples/mnist.pxl --weights build/demo/mnist.safetensors

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
include tests/tests.mk
