# codes_test.sh — every code of diag.def stands, with its whole text, in what some test expects.
. tests/cli/lib.sh
texts=$(find tests -name '*.err' -o -name '*.out' -o -name '*_test.c' | xargs grep -hoE '(error|warning)\[[EW][0-9]{4}\]: .' | grep -oE '[EW][0-9]{4}' | sort -u)
for code in $(grep -oE '^DIAG\([EW][0-9]{4}' lang/base/diag.def | cut -c6-); do
	if echo "$texts" | grep -q "$code"; then ok; else not_ok "no test expects the text of $code"; fi
done
done_here
