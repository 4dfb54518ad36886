/* grouping.c — which replicas hold one value together (semantics.md 8.2, 8.3).
 *
 * A constant grouping follows from a stride and a size: member i of group g is replica
 * g / stride * stride * size + g % stride + i * stride.  Any other assignment of replicas to groups of
 * equal size is kept as the list it is. */
#include "compiler/ir/ir.h"

static int group_of(int replica, int stride, int size)
{
	return replica % stride + stride * (replica / (stride * size));
}

static int add(Ir *ir, Grouping *g)
{
	for (int i = 0; i < ir->groupings.n; i++)
		if (grouping_same(ir, ir->groupings.at[i], g)) return i;
	vec_push(ir->mem, &ir->groupings, g);
	return ir->groupings.n - 1;
}

int grouping_at(const Grouping *g, int replica)
{
	return g->assignment.n ? g->assignment.at[replica] : group_of(replica, g->stride, g->size);
}

int grouping_same(const Ir *ir, const Grouping *a, const Grouping *b)
{
	for (int i = 0; i < ir->replicas; i++)
		if (grouping_at(a, i) != grouping_at(b, i)) return 0;
	return 1;
}

int grouping_const(Ir *ir, int64_t stride, int64_t size, const char **why)
{
	int64_t rf = ir->replicas;
	*why = NULL;
	if (stride <= 0 || stride > rf || rf % stride) *why = "the stride must divide the number of replicas";
	else if (size <= 0 || size > rf) *why = "the group size must lie between 1 and the number of replicas";
	else if (size == 1 && stride != 1) *why = "groups of one replica have stride 1";
	else if (rf % (stride * size)) *why = "stride times group size must divide the number of replicas";
	if (*why) return -1;
	Grouping *g = NEW(ir->mem, Grouping);
	*g = (Grouping){ .stride = (int)stride, .size = (int)size, .count = (int)(rf / size), .is_const = 1 };
	return add(ir, g);
}

/* numbers 0, 1, … in order of first appearance, each as often as the others; how many there are, or 0 */
static int count_groups(const Ir *ir, const int *group, int n, int *size, const char **why)
{
	int groups = 0, *members = NEWN(ir->mem, int, n + 1);
	for (int i = 0; i < n; i++) {
		if (group[i] < 0 || group[i] > groups) return *why = "groups are numbered 0, 1, 2, ... in the order in which they appear", 0;
		groups += group[i] == groups;
		members[group[i]]++;
	}
	for (int i = 1; i < groups; i++)
		if (members[i] != members[0]) return *why = "all groups must have the same size", 0;
	*size = members[0];
	return groups;
}

/* the gap between the first two members of group 0; 1 for groups of one */
static int first_gap(const int *group, int n)
{
	for (int i = 1; i < n; i++)
		if (group[i] == group[0]) return i;
	return 1;
}

int grouping_from(Ir *ir, const int *group, int n, const char **why)
{
	int size = 1, stride = first_gap(group, n);
	*why = n == ir->replicas ? NULL : "every replica needs a group";
	int groups = *why ? 0 : count_groups(ir, group, n, &size, why);
	if (!groups) return -1;
	Grouping *g = NEW(ir->mem, Grouping);
	*g = (Grouping){ .stride = stride, .size = size, .count = groups, .is_const = n % (stride * size) == 0 };
	for (int i = 0; i < n && g->is_const; i++) g->is_const = group_of(i, stride, size) == group[i];
	for (int i = 0; i < n && !g->is_const; i++) vec_push(ir->mem, &g->assignment, group[i]);
	return add(ir, g);
}

/* R130: one value per group, side by side; 8 dimensions leave no room for another */
Shape variable_host_shape(const Tensor *t)
{
	Shape own = t->spec.shape, s = { 0 };
	int groups = t->graph->ir->groupings.at[t->grouping]->count;
	if (groups == 1 || own.rank == MAX_RANK) return own;
	s.dim[s.rank++] = groups;
	for (int i = 0; i < own.rank; i++) s.dim[s.rank++] = own.dim[i];
	return s;
}
