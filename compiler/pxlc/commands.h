/* commands.h — the subcommands, one file each or a few small ones together. */
#ifndef PXLC_COMMANDS_H
#define PXLC_COMMANDS_H

#include "compiler/pxlc/cli.h"

int cmd_run(Cli *c);
int cmd_train(Cli *c);
int cmd_test(Cli *c);
int cmd_check(Cli *c);
int cmd_emit(Cli *c);
int cmd_bench(Cli *c);
int cmd_ops(Cli *c);
int cmd_explain(Cli *c);
int cmd_build(Cli *c);
int cmd_fmt(Cli *c);

#endif
