#!/bin/sh
# embed.sh FILE… — writes C on standard output that holds the bytes of each file (see lang/embed.h).
set -eu
echo '#include "lang/embed.h"'
n=0
for f in "$@"; do
	echo "static const unsigned char text$n[] = {"
	od -An -v -tu1 "$f" | sed 's/  */,/g; s/^,//; s/$/,/'
	echo '0};'
	n=$((n + 1))
done
echo 'const EmbeddedFile embedded_files[] = {'
n=0
for f in "$@"; do
	name=${f##*/}
	echo "{ \"$f\", \"${name%.*}\", (const char *)text$n, sizeof text$n - 1 },"
	n=$((n + 1))
done
echo '{ 0, 0, 0, 0 } };'
