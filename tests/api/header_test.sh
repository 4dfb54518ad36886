# The public header is C99 and C++11; the libraries show pxl_ names alone; both host programs build through pkg-config and work.
. tests/cli/lib.sh
case $B in */san|*/tsan) skip 'the hosts are linked without sanitizers' ;; esac
echo '#include <pxl.h>
int main(void) { return pxl_version() == 0; }' > "$T/h.c"
check 'C99' gcc -std=c99 -pedantic -Wall -Wextra -Werror -Icompiler/api -fsyntax-only "$T/h.c"
check 'C++11' g++ -std=c++11 -pedantic -Wall -Wextra -Werror -Icompiler/api -fsyntax-only -x c++ "$T/h.c"
seen=$(nm -D --defined-only "$B/libpxl.so" | awk '{print $3}' | grep -v '^pxl_' | head -5)
[ -z "$seen" ] || { echo "FAILED: libpxl.so shows $seen"; bad=1; }
seen=$(nm --defined-only --extern-only "$B/libpxl.a" | awk 'NF==3 {print $3}' | grep -v '^pxl_' | head -5)
[ -z "$seen" ] || { echo "FAILED: libpxl.a shows $seen"; bad=1; }
declared=$(sed -n 's/^PXL_API.*[ *]\(pxl_[a-z0-9_]*\)(.*/\1/p' compiler/api/pxl.h | sort)
exported=$(nm -D --defined-only "$B/libpxl.so" | awk '{print $3}' | sed 's/@.*//' | sort)
[ "$declared" = "$exported" ] || { echo "FAILED: declared and exported names differ"; bad=1; }
check 'make install' make -s install DESTDIR="$T/root" PREFIX=/usr BUILD="$B"
export PKG_CONFIG_PATH="$T/root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$T/root"
flags=$(pkg-config --cflags --libs pxl)
for e in train serve host_op; do
	check "$e builds" gcc -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra "examples/embed/$e.c" $flags -lpthread -o "$T/$e"
done
cd "$T"
export LD_LIBRARY_PATH="$T/root/usr/lib"
expect 0 ./train
has 'y = 2.000 x + -1.000'
check 'it saved' test -s line.safetensors
expect 0 ./serve
has '0 wrong'
expect 0 ./host_op
has 'x -1: y -0.02, slope 0.02'
done_here
