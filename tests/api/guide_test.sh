# The hosts of examples/guide, built with nothing but pxl.h, say what the guide promises.
. tests/cli/lib.sh
case $B in */san|*/tsan) skip 'the host is linked without sanitizers' ;; esac
for e in simple_addition tensor_get_write tensor_get_write_adv nested_session_contexts repeat_graph_2 remote_variable code_loading; do
	check "$e builds" gcc -std=c99 -pedantic -Wall -Wextra -Werror -Wno-unused-function -Icompiler/api "examples/guide/$e.c" "$B/libpxl.a" -lz -lm -ldl -lpthread -o "$T/$e"
done
cd examples/guide || exit 1
expect 0 "$T/simple_addition"
has '10 + 20 = 30, and 30 again'
shows R298
expect 0 "$T/tensor_get_write"
has 'sum = 4, a = 3, b = 1'
shows R290
has 'a = 5, sum = 6'
shows R294
expect 0 "$T/tensor_get_write_adv"
has 'written while detached   5   to host 0, from host 0'
has 'attached                 5   to host 0, from host 1'
shows R274 R288
has 'after a run              5   to host 1, from host 1'
shows R284 R287
has 'the other one            1   to host 1, from host 1'
shows R284 R287
has 'written while attached   5   to host 1, from host 2'
shows R285
has 'detached                 5   to host 2, from host 2'
shows R275
has 'the other one            1   to host 2, from host 2'
expect 0 "$T/nested_session_contexts"
printf 'before       detached\nouter        attached\ninner        attached\nouter again  attached\nafter        detached\n' > "$T/want"
check 'the session is attached inside the outer context' diff "$T/want" "$T/out"
shows R275 R278
expect 0 "$T/repeat_graph_2"
has '8 turns, 0 wrong'
shows R305
expect 0 "$T/remote_variable"
has 'stream 3, handle 3'
shows R336
has 'handle 42'
expect 0 "$T/code_loading"
cat > "$T/want" <<'E'
y = 1, code was loaded 3 times in 3 runs
code, by steps of the main graph (4)
  fn_subgraph(0): live 0-2; loaded in 0
y = 3, code was loaded 6 times in 3 runs
code, by steps of the main graph (6)
  fn_subgraph(0): live 3-4; loaded in 3
  load_subgraph(1): live 0-3; loaded in 0
E
check 'code is loaded when it is needed, and only then live' diff "$T/want" "$T/out"
shows R362 R365 R366 R370
# data and timer: two full batches of five numbers, and no more samples than asked for
expect 0 "$PXLC" train mnist_utils.pxl --task five
has 'batches: 2'
shows A323
has 'samples: 4'
has 'sum: 10'
has 'time: '
expect 0 "$PXLC" train mnist_utils.pxl --task five --limit 1 --set batch=3
has 'samples: 3'
has 'sum: 6'
expect 1 "$PXLC" train mnist_utils.pxl --task five --set batch=6
has 'a step takes 6 samples, but the data has only 5' err
HOME=$T PXL_DATA_DIR= expect 0 "$PXLC" train mnist_utils.pxl
has 'batches: 10'
has 'samples: 80'
done_here
