# codes_test.sh — every code of diag.def stands, with its whole text, in what some test expects.
bad=0
texts=$(find tests -name '*.err' -o -name '*.out' -o -name '*_test.c' | xargs grep -hoE '(error|warning)\[[EW][0-9]{4}\]: .' | grep -oE '[EW][0-9]{4}' | sort -u)
for code in $(grep -oE '^DIAG\([EW][0-9]{4}' lang/base/diag.def | cut -c6-); do
	echo "$texts" | grep -q "$code" || { echo "no test expects the text of $code"; bad=1; }
done
exit $bad
