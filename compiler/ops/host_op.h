/* host_op.h — ops whose results a C function computes: one of the host program, or of a C file named by the model or the host.
 *
 * A context keeps them as a list that only grows at its front, so the head that an Ir remembers is a set that
 * never changes.  Operands and results are contiguous. */
#ifndef COMPILER_OPS_HOST_OP_H
#define COMPILER_OPS_HOST_OP_H

#include "compiler/ops/op.h"

enum { MOST_HOST_ARGS = 16 };                    /* operands, results or numbers of one host op */

/* one operand of the gradient op: operand, result, or gradient of a result of the forward op */
typedef enum HostSource { HOST_IN, HOST_OUT, HOST_GRAD } HostSource;
typedef struct HostOperand { HostSource from; int at; } HostOperand;

typedef enum HostParamKind { HOST_FLOAT, HOST_INT, HOST_BOOL } HostParamKind;
typedef struct HostParam { const char *name; int optional; double init; HostParamKind kind; } HostParam;
/* a file of C that ops come from: it can be shipped with what uses them */
typedef struct NativeFile { const char *path, *text; size_t len; uint64_t hash; } NativeFile;
typedef struct HostOp HostOp;
struct HostOp {
	const HostOp *next;
	const char *name, *version;              /* version NULL: none */
	const NativeFile *file;                  /* NULL: a function of the host program itself */
	int at;                                  /* its place in the table of the file */
	int nin, nout, nparam;
	HostParam params[MOST_HOST_ARGS];
	/* results of operands and numbers; 0 with the reason in `why` */
	int (*infer)(const HostOp *op, const Spec *in, const double *attr, Spec *out, char *why, size_t size);
	RtHostRun run;
	const char *grad;                        /* the op that is its gradient; NULL: there is none */
	int ngrad_in, ngrad_out;
	HostOperand grad_in[3 * MOST_HOST_ARGS];
	int grad_out[MOST_HOST_ARGS];            /* the operand that each result of the gradient op belongs to */
};
/* "name": the latest of that name; "name@version": that one */
const HostOp *host_op_find(const HostOp *first, const char *name);

#endif
