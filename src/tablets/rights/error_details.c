/*-------------------------------------------------------------------------
 * error_details.c
 *	  What the detail of a node's error tells of rows.
 *
 * A node's role may see all, so its errors name keys and rows. As in PostgreSQL, a key is
 * shown to who may read all of its columns, and to nobody for whom the table has policies; a
 * row, and what code on the node says, to who may read the whole table. (PostgreSQL shows those
 * columns of a row that the user may read. A node's text cannot be split safely.)
 *
 * The user is the role that had the request sent. Its answer may be read later, with the rights of
 * another one's function.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/tablet_names.h"
#include "tablets/rights/error_details.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* How core ends a detail with a key, and what it says instead to who may not see it. */
static const struct
{
	int			sqlstate;
	const char *phrase;
	const char *instead;		/* NULL: no detail */
	bool		names_table;	/* which follows the phrase */
	bool		of_parent;		/* the key is one of the message's table */
}			key_details[] =

{
	{ERRCODE_UNIQUE_VIOLATION, " already exists.", NULL, false, false},
	{ERRCODE_UNIQUE_VIOLATION, " is duplicated.", "Duplicate keys exist.", false, false},
	{ERRCODE_FOREIGN_KEY_VIOLATION, " is not present in table ", "Key is not present in table ", true, false},
	{ERRCODE_FOREIGN_KEY_VIOLATION, " is still referenced from table ", "Key is still referenced from table ", true, true},
};

/* Where a phrase is last; NULL: nowhere. What precedes it may be a value. */
static const char *
find_last(const char *text, const char *phrase)
{
	const char *found = NULL;

	for (const char *at = strstr(text, phrase); at != NULL; at = strstr(at + 1, phrase))
		found = at;
	return found;
}

static bool
may_read_column(Oid relid, const char *name, Oid userid)
{
	size_t		length = strlen(name);
	AttrNumber	column;

	if (length > 2 && name[0] == '"' && name[length - 1] == '"')
		name = pnstrdup(name + 1, length - 2);
	column = get_attnum(relid, name);
	return column != InvalidAttrNumber && pg_attribute_aclcheck(relid, column, userid, ACL_SELECT) == ACLCHECK_OK;
}

/* True if a user may read the columns that "Key (a, b)=(1, 2) ..." names. */
static bool
may_read_key(Oid relid, const char *detail, Oid userid)
{
	const char *end = strstr(detail, ")=(");
	char	   *names;

	if (!OidIsValid(relid) || check_enable_rls(relid, userid, true) == RLS_ENABLED)
		return false;
	if (pg_class_aclcheck(relid, userid, ACL_SELECT) == ACLCHECK_OK)
		return true;
	if (strncmp(detail, "Key (", 5) != 0 || end == NULL)
		return false;
	names = pnstrdup(detail + 5, end - detail - 5);
	while (names != NULL)
	{
		char	   *next = strstr(names, ", ");

		if (next != NULL)
			*next = '\0';
		if (!may_read_column(relid, names, userid))
			return false;
		names = next == NULL ? NULL : next + 2;
	}
	return true;
}

/* The table that a message names first, whose rows others refer to. InvalidOid: it is not the
 * only one of that name. */
static Oid
find_parent(const char *message)
{
	const char *start = message == NULL ? NULL : strchr(message, '"');
	const char *end = start == NULL ? NULL : strchr(start + 1, '"');
	Oid			found = InvalidOid;
	int			nfound = 0;
	CatCList   *list;
	NameData	name;

	if (end == NULL)
		return InvalidOid;
	namestrcpy(&name, pnstrdup(start + 1, end - start - 1));
	list = SearchSysCacheList1(RELNAMENSP, NameGetDatum(&name));
	for (int i = 0; i < list->n_members; i++)
	{
		Oid			relid = ((Form_pg_class) GETSTRUCT(&list->members[i]->tuple))->oid;
		ShuttleTableKind kind = shuttle_table_kind(relid);

		if (kind != SHUTTLE_TABLE_DISTRIBUTED && kind != SHUTTLE_TABLE_REFERENCE)
			continue;
		found = relid;
		nfound++;
	}
	ReleaseSysCacheList(list);
	return nfound == 1 ? found : InvalidOid;
}

/* relid: the table with the rows, or that whose rows the error's table has entries of. */
static void
restrict_detail(ShuttleErrorNames *names, Oid relid, Oid userid)
{
	for (int i = 0; i < lengthof(key_details); i++)
	{
		const char *phrase = key_details[i].phrase;
		const char *at = names->sqlstate == key_details[i].sqlstate ? find_last(names->detail, phrase) : NULL;
		Oid			keyed = relid;

		if (at == NULL)
			continue;
		if (key_details[i].of_parent)
			keyed = find_parent(names->message);
		if (!may_read_key(keyed, names->detail, userid))
			names->detail = !key_details[i].names_table ? key_details[i].instead :
				psprintf("%s%s", key_details[i].instead, at + strlen(phrase));
		return;
	}
	if (pg_class_aclcheck(relid, userid, ACL_SELECT) != ACLCHECK_OK || check_enable_rls(relid, userid, true) == RLS_ENABLED)
		names->detail = NULL;
}

void
shuttle_error_details_translate(ShuttleErrorNames *names)
{
	Oid			relid = shuttle_tablet_name_objects(names);

	if (OidIsValid(relid) && names->detail != NULL)
		restrict_detail(names, relid, OidIsValid(names->userid) ? names->userid : shuttle_global_send_user());
}
