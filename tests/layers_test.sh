# layers_test.sh — includes go one way: compiler → lang, compiler → runtime (through runtime.h, base.h); lang and runtime know nobody.
. tests/cli/lib.sh
no() { if grep -nE "$2" $(find $1 -name '*.[chly]') /dev/null; then not_ok "$1 must not include this"; else ok; fi; }
no lang    '#include "(compiler|runtime)/'
no runtime '#include "(compiler|lang)/'
no 'compiler/ir' '#include "compiler/(elab|passes|codegen|api|pxlc|transforms)/'
no 'compiler/ops' '#include "compiler/(elab|passes|api|pxlc|transforms)/'
no 'compiler/elab' '#include "compiler/(passes|codegen|api|pxlc)/'
no 'compiler/transforms' '#include "compiler/(elab|passes|codegen|api|pxlc)/'
no 'compiler/passes' '#include "compiler/(elab|api|pxlc)/'
no 'compiler/codegen' '#include "compiler/(elab|api|pxlc|transforms)/'
no 'compiler/pxlc' '#include "compiler/(elab|passes|codegen|ir|ops|transforms)/'
done_here
