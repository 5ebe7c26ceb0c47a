/*-------------------------------------------------------------------------
 * tree_place.c
 *	  Where two trees differ.
 *
 * Both are printed as trees of nodes, and the first place where they differ is shown
 * with what is around it. What equal() does not look at is passed over.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodes.h"

#include "tablets/proof/proof_internal.h"
#include "tablets/shuttle_proof.h"

#define SHOWN_BEFORE 120		/* bytes */
#define SHOWN_BEHIND 200

static const char *const ignored[] = {
	":location ", ":stmt_location ", ":list_start ", ":list_end ", ":funcformat ",
	":relabelformat ", ":coerceformat ", ":coercionformat ", ":convertformat ",
	":row_format ", ":varnosyn ", ":varattnosyn ",
};

/* The place behind an ignored field, if one begins here. */
static const char *
pass_ignored(const char *tree)
{
	for (int i = 0; *tree == ':' && i < lengthof(ignored); i++)
	{
		if (strncmp(tree, ignored[i], strlen(ignored[i])) != 0)
			continue;
		tree += strlen(ignored[i]);
		tree += strcspn(tree, " })");
		tree += strspn(tree, " ");
		i = -1;
	}
	return tree;
}

static char *
show(const char *tree, const char *place)
{
	const char *from = place - tree > SHOWN_BEFORE ? place - SHOWN_BEFORE : tree;

	return psprintf("%.*s >> %.*s", (int) (place - from), from,
					(int) strnlen(place, SHOWN_BEHIND), place);
}

char *
shuttle_tree_place(const void *meant, const void *read)
{
	const char *one = nodeToString(meant);
	const char *other = nodeToString(read);
	const char *a = pass_ignored(one);
	const char *b = pass_ignored(other);

	while (*a == *b && *a != '\0')
	{
		a = pass_ignored(a + 1);
		b = pass_ignored(b + 1);
	}
	return psprintf("Meant: %s\nRead: %s", show(one, a), show(other, b));
}
