# tests.mk — how tests are built and run; `tests/run` decides by suffix (see docs/TOUR.md).
TEST_DIRS := tests/lang tests/ir tests/ops tests/api tests/runtime tests/graphs
TEST_SRC  := $(foreach d,$(TEST_DIRS),$(wildcard $(d)/*.c))
TEST_BIN  := $(TEST_SRC:tests/%.c=$(BUILD)/t/%)

# an object and a program each: a change of the library links programs anew, and compiles none
TEST_OBJ  := $(TEST_SRC:%.c=$(BUILD)/o/%.o)
.SECONDARY: $(TEST_OBJ)
$(TEST_OBJ): | $(GEN_SRC)
$(BUILD)/t/%: $(BUILD)/o/tests/%.o $(BUILD)/libpxl-internal.a
	@mkdir -p $(@D)
	$(call say,ld $@) $(CC) $(LDSAN) -o $@ $^ $(LIBS)
-include $(TEST_OBJ:.o=.d)

# fuzz targets: in `make test` each runs over its corpus; `make fuzz` builds build/fuzz/bin/NAME, to be run with a corpus
# directory and libFuzzer's options
FUZZ_TARGET := $(patsubst tests/fuzz/%.c,%,$(filter-out tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c)))
TEST_BIN    += $(FUZZ_TARGET:%=$(BUILD)/t/fuzz/%)
$(BUILD)/t/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(BUILD)/libpxl-internal.a
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) $(LDSAN) -o $@ $< tests/fuzz/replay.c $(BUILD)/libpxl-internal.a $(LIBS)
fuzz:
	$(MAKE) FUZZ=1 $(FUZZ_TARGET:%=build/fuzz/bin/%)
ifeq ($(FUZZ),1)
# the kernels are written for gcc's way of choosing instruction sets
$(BUILD)/o/runtime/kernels/%.o: CC := gcc
$(BUILD)/o/runtime/kernels/%.o: ALLCFLAGS := $(filter-out -fsanitize=%,$(ALLCFLAGS))
endif
$(BUILD)/bin/%: tests/fuzz/%.c $(BUILD)/libpxl-internal.a
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) -fsanitize=fuzzer -o $@ $< $(BUILD)/libpxl-internal.a $(LIBS)

# make test T="NAME…" builds and runs the tests whose name contains a NAME, and nothing else
ifdef T
  named      = $(foreach w,$(T),$(foreach n,$1,$(if $(findstring $w,$(n:$(BUILD)/t/%=%)),$n)))
  TEST_SH   := $(call named,$(shell find tests -name '*_test.sh'))
  TEST_NEEDS = $(call named,$(TEST_BIN)) $(if $(TEST_SH),all)
else
  TEST_NEEDS = all $(TEST_BIN)
endif
test: $(TEST_NEEDS)
	@BUILD=$(BUILD) sh tests/run $(T)
bless: $(TEST_NEEDS)
	@BUILD=$(BUILD) BLESS=1 sh tests/run $(T)

# what takes too long for every day; docs/long-tests.md keeps what it said last
LONG_BIN := $(patsubst tests/%.c,$(BUILD)/t-long/%,$(wildcard tests/long/*.c))
$(BUILD)/t-long/%: tests/%.c $(BUILD)/libpxl-internal.a
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) $(LDSAN) -o $@ $< $(BUILD)/libpxl-internal.a $(LIBS)
test-long: all $(LONG_BIN)
	@for t in $(LONG_BIN); do echo "$${t##*/}"; $$t || exit 1; done
.PHONY: test-long

# docs/coverage.md from the assertions of the last `make test`
coverage:
	@ls $(BUILD)/log/*.result | sed "s/\\.result$$//" | xargs sed -n "s/^shown //p" > $(BUILD)/log/shown
	sh tools/coverage.sh $(BUILD)/log/shown > docs/coverage.md

# Against others: tests/bench/bench.py says how.  ROWS="train soft" chooses rows, PXL_PEERS a place for the peers' venv that survives `make clean`.
PXL_PEERS ?= $(BUILD)/peers
BENCH_PY = $(firstword $(wildcard $(PXL_PEERS)/bin/python) python3)
BENCH_ENV = BUILD=$(BUILD) PXL_PEERS=$(PXL_PEERS)
deps-bench:
	@PXL_PEERS=$(PXL_PEERS) sh tests/bench/deps.sh
bench: all $(BUILD)/b/machine $(BUILD)/b/tuned.so
	@$(BENCH_ENV) $(BENCH_PY) tests/bench/bench.py $(ROWS)
bench-quick: all $(BUILD)/b/machine $(BUILD)/b/tuned.so
	@$(BENCH_ENV) $(BENCH_PY) tests/bench/bench.py --quick $(ROWS)
bench-ablation: all
	@$(BENCH_ENV) $(BENCH_PY) tests/bench/ablation.py $(ROWS)
bench-docs:
	@$(BENCH_ENV) $(BENCH_PY) tests/bench/performance.py docs/performance.md
count: $(BUILD)/b/count
	@BUILD=$(BUILD) sh tests/bench/count.sh
.PHONY: fuzz coverage deps-bench bench bench-quick bench-ablation bench-docs count

# programs that measure: built on demand (make build/b/kernels), never run as tests
$(BUILD)/b/%: tests/bench/%.c $(BUILD)/libpxl-internal.a
	@mkdir -p $(@D)
	$(call say,cc $<) $(CC) $(ALLCFLAGS) $(LDSAN) -o $@ $< $(BUILD)/libpxl-internal.a $(LIBS)
# not by sanitizers: it is loaded into a Python that has none.  Without oneDNN's header that peer stays away.
$(BUILD)/b/tuned.so: tests/bench/tuned.c
	@mkdir -p $(@D)
	-$(call say,cc $<) $(CC) $(ALLCFLAGS) -fPIC -shared -o $@ $< -ldnnl
