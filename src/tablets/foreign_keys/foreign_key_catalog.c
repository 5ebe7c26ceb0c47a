/*-------------------------------------------------------------------------
 * foreign_key_catalog.c
 *	  Makes foreign keys that this server checks.
 *
 * Such a key is a row of pg_constraint like any other, so that it is shown, dumped,
 * renamed and dropped as always. Core makes none of its own for tables with foreign
 * partitions, and its triggers would ask row by row. So the row is made here, with
 * triggers of ours: one for rows of each table (for a distributed one, of each tablet),
 * and one for the end of statements. They depend on the constraint, and are internal as
 * core's are.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_tablets.h"

/* ---- reading */

static Oid	known_function = InvalidOid;	/* for each row that is written it
											 * is asked for */

static void
forget_function(Datum arg, int cache, uint32 hash)
{
	known_function = InvalidOid;
}

static Oid
trigger_function(bool missing_ok)
{
	static bool watching = false;

	if (!watching)
		CacheRegisterSyscacheCallback(PROCOID, forget_function, (Datum) 0);
	watching = true;
	if (!OidIsValid(known_function))
		known_function = LookupFuncName(list_make2(makeString("shuttle"), makeString("foreign_key_change")), 0, NULL, missing_ok);
	return known_function;
}

bool
shuttle_foreign_key_has_trigger(Oid function)
{
	return function == trigger_function(true);
}

ShuttleForeignKey *
shuttle_foreign_key_load(Oid constraint)
{
	ShuttleForeignKey *key = palloc0_object(ShuttleForeignKey);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	key->oid = constraint;
	key->name = pstrdup(NameStr(form->conname));
	key->child = form->conrelid;
	key->parent = form->confrelid;
	key->match = form->confmatchtype;
	key->on_update = form->confupdtype;
	key->on_delete = form->confdeltype;
	key->deferrable = form->condeferrable;
	key->deferred = form->condeferred;
	DeconstructFkConstraintRow(tuple, &key->ncolumns, key->child_columns, key->parent_columns,
							   key->parent_child, key->parent_parent, key->child_child,
							   &key->nset, key->set_columns);
	ReleaseSysCache(tuple);
	return key;
}

List *
shuttle_foreign_keys_of(Oid relid)
{
	static const char *const query =
		"SELECT oid::text FROM pg_constraint AS c WHERE contype = 'f' AND $1 IN (conrelid, confrelid) AND conparentid = 0"
		" AND EXISTS (SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid WHERE t.tgconstraint = c.oid"
		" AND p.proname = 'foreign_key_change' AND p.pronamespace = 'shuttle'::regnamespace) ORDER BY conname, oid";
	List	   *constraints = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(query, relid))
		constraints = lappend_oid(constraints, atooid(lfirst(cell)));
	return constraints;
}

/* Generated columns follow others. */
static bool
is_target(Relation rel, AttrNumber column, const List *targets)
{
	const ListCell *cell;

	foreach(cell, targets)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!target->resjunk && target->resno == column)
			return true;
	}
	return TupleDescAttr(RelationGetDescr(rel), column - 1)->attgenerated != '\0';
}

bool
shuttle_foreign_key_is_updated(Relation rel, const List *targets)
{
	const TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		bool		of_parent = TRIGGER_FOR_DELETE(trigger->tgtype) != 0;
		const ShuttleForeignKey *key;

		if (!shuttle_foreign_key_has_trigger(trigger->tgfoid))
			continue;
		key = shuttle_foreign_key_load(trigger->tgconstraint);
		for (int j = 0; j < key->ncolumns; j++)
		{
			if (is_target(rel, of_parent ? key->parent_columns[j] : key->child_columns[j], targets))
				return true;
		}
	}
	return false;
}

/* ---- triggers */

/* Triggers of the constraint on a table, by kind. */
static void
find_triggers(Oid relid, Oid constraint, bool of_parent, bool *for_rows, bool *for_statements)
{
	Relation	rel = table_open(relid, NoLock);
	const TriggerDesc *triggers = rel->trigdesc;

	*for_rows = *for_statements = false;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgconstraint != constraint || (TRIGGER_FOR_DELETE(trigger->tgtype) != 0) != of_parent)
			continue;
		if (TRIGGER_FOR_ROW(trigger->tgtype))
			*for_rows = true;
		else
			*for_statements = true;
	}
	table_close(rel, NoLock);
}

static void
make_trigger(Oid relid, Oid constraint, bool of_parent, bool for_rows)
{
	CreateTrigStmt *statement = makeNode(CreateTrigStmt);
	ObjectAddress trigger;
	ObjectAddress table;

	/* as core's: by name, actions come before the checks of keys */
	statement->trigname = of_parent ? "RI_ShuttleTrigger_a" : "RI_ShuttleTrigger_c";
	statement->row = for_rows;
	statement->timing = TRIGGER_TYPE_AFTER;
	statement->events = TRIGGER_TYPE_UPDATE | (of_parent ? TRIGGER_TYPE_DELETE : TRIGGER_TYPE_INSERT);
	trigger = CreateTrigger(statement, NULL, relid, InvalidOid, constraint, InvalidOid,
							trigger_function(false), InvalidOid, NULL, true, false);

	/* the constraint does not depend on tablets */
	ObjectAddressSet(table, RelationRelationId, relid);
	recordDependencyOn(&trigger, &table, DEPENDENCY_AUTO);
	CommandCounterIncrement();
}

/* The tables whose rows are written: the tablets of a distributed one. */
static List *
tables_with_rows(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *relids = NIL;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		relids = list_make1_oid(relid);
	else
	{
		PartitionDesc partitions = RelationGetPartitionDesc(rel, true);

		for (int i = 0; i < partitions->nparts; i++)
			relids = lappend_oid(relids, partitions->oids[i]);
	}
	table_close(rel, NoLock);
	return relids;
}

static void
make_triggers(Oid relid, Oid constraint, bool of_parent)
{
	bool		for_rows;
	bool		for_statements;
	ListCell   *cell;

	foreach(cell, tables_with_rows(relid))
	{
		LockRelationOid(lfirst_oid(cell), ShareRowExclusiveLock);
		find_triggers(lfirst_oid(cell), constraint, of_parent, &for_rows, &for_statements);
		if (!for_rows)
			make_trigger(lfirst_oid(cell), constraint, of_parent, true);
	}
	find_triggers(relid, constraint, of_parent, &for_rows, &for_statements);
	if (!for_statements)
		make_trigger(relid, constraint, of_parent, false);
}

void
shuttle_foreign_key_follow(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_foreign_keys_of(relid))
	{
		const ShuttleForeignKey *key = shuttle_foreign_key_load(lfirst_oid(cell));

		if (key->child == relid)
			make_triggers(relid, key->oid, false);
		if (key->parent == relid)
			make_triggers(relid, key->oid, true);
	}
}

/* ---- making a key */

/* Columns as a statement names them. */
static int
find_columns(Oid relid, const List *names, AttrNumber *columns)
{
	int			n = 0;
	const ListCell *cell;

	if (list_length(names) > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot have more than %d keys in a foreign key", INDEX_MAX_KEYS)));
	foreach(cell, names)
	{
		columns[n] = get_attnum(relid, strVal(lfirst(cell)));
		if (columns[n] == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" referenced in foreign key constraint does not exist", strVal(lfirst(cell)))));
		if (columns[n] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("system columns cannot be used in foreign keys")));
		n++;
	}
	return n;
}

/* True if the index's columns are these, in any order; then their operator classes. */
static bool
index_has_columns(HeapTuple tuple, const AttrNumber *columns, int ncolumns, Oid *classes)
{
	const FormData_pg_index *index = (Form_pg_index) GETSTRUCT(tuple);
	bool		is_null;
	Datum		value = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &is_null);
	const oidvector *all = (oidvector *) DatumGetPointer(value);

	if (!index->indisunique || index->indnkeyatts != ncolumns ||
		!heap_attisnull(tuple, Anum_pg_index_indpred, NULL) || !heap_attisnull(tuple, Anum_pg_index_indexprs, NULL))
		return false;
	for (int i = 0; i < ncolumns; i++)
	{
		int			at = 0;

		while (at < ncolumns && index->indkey.values[at] != columns[i])
			at++;
		if (at == ncolumns)
			return false;
		classes[i] = all->values[at];
	}
	return true;
}

/* The unique index of the columns; those of distributed tables are not valid here. columns:
 * if ncolumns is 0, set to the primary key's. */
static Oid
find_index(Relation parent, AttrNumber *columns, int *ncolumns, Oid *classes)
{
	Oid			found = InvalidOid;
	bool		is_deferrable = false;
	bool		by_key = *ncolumns == 0;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(parent))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
		const FormData_pg_index *index = (Form_pg_index) GETSTRUCT(tuple);

		if (by_key && index->indisprimary)
		{
			*ncolumns = index->indnkeyatts;
			for (int i = 0; i < *ncolumns; i++)
				columns[i] = index->indkey.values[i];
		}
		if ((!by_key || index->indisprimary) && !OidIsValid(found) &&
			index_has_columns(tuple, columns, *ncolumns, classes))
		{
			if (index->indimmediate)
				found = lfirst_oid(cell);
			else
				is_deferrable = true;
		}
		ReleaseSysCache(tuple);
		if (OidIsValid(found))
			return found;
	}
	if (is_deferrable)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot use a deferrable %s for referenced table \"%s\"",
						by_key ? "primary key" : "unique constraint", RelationGetRelationName(parent))));
	ereport(ERROR,
			(errcode(by_key ? ERRCODE_UNDEFINED_OBJECT : ERRCODE_INVALID_FOREIGN_KEY),
			 by_key ? errmsg("there is no primary key for referenced table \"%s\"", RelationGetRelationName(parent)) :
			 errmsg("there is no unique constraint matching given keys for referenced table \"%s\"",
					RelationGetRelationName(parent))));
}

/* Sets one column's operators, as core does. Returns false: there are none. */
static bool
find_operators(ShuttleForeignKey *key, int i, Oid class)
{
	Oid			family = get_opclass_family(class);
	Oid			input = get_opclass_input_type(class);
	Oid			types[2] = {get_atttype(key->parent, key->parent_columns[i]), get_atttype(key->child, key->child_columns[i])};
	Oid			inputs[2] = {input, input};
	Oid			child_type = getBaseType(types[1]);

	key->parent_parent[i] = get_opfamily_member(family, input, input, BTEqualStrategyNumber);
	key->parent_child[i] = get_opfamily_member(family, input, child_type, BTEqualStrategyNumber);
	key->child_child[i] = get_opfamily_member(family, child_type, child_type, BTEqualStrategyNumber);
	if ((!OidIsValid(key->parent_child[i]) || !OidIsValid(key->child_child[i])) &&
		can_coerce_type(2, types, inputs, COERCION_IMPLICIT))
		key->parent_child[i] = key->child_child[i] = key->parent_parent[i];
	return OidIsValid(key->parent_child[i]) && OidIsValid(key->child_child[i]);
}

/* Both collations are the same if one has equal texts that differ. */
static bool
collations_agree(const ShuttleForeignKey *key, int i)
{
	Oid			type;
	int32		typmod;
	Oid			own;
	Oid			other;

	get_atttypetypmodcoll(key->child, key->child_columns[i], &type, &typmod, &own);
	get_atttypetypmodcoll(key->parent, key->parent_columns[i], &type, &typmod, &other);
	return own == other || !OidIsValid(own) || !OidIsValid(other) ||
		(get_collation_isdeterministic(own) && get_collation_isdeterministic(other));
}

static void
set_operators(ShuttleForeignKey *key, const Oid *classes)
{
	for (int i = 0; i < key->ncolumns; i++)
	{
		Oid			own = get_atttype(key->child, key->child_columns[i]);
		Oid			other = get_atttype(key->parent, key->parent_columns[i]);

		if (!find_operators(key, i, classes[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("foreign key constraint \"%s\" cannot be implemented", key->name),
					 errdetail("Key columns \"%s\" and \"%s\" are of incompatible types: %s and %s.",
							   get_attname(key->child, key->child_columns[i], false),
							   get_attname(key->parent, key->parent_columns[i], false),
							   format_type_be(own), format_type_be(other))));
		if (func_volatile(get_opcode(key->parent_child[i])) != PROVOLATILE_IMMUTABLE)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign key constraint \"%s\" is not possible between types %s and %s", key->name,
							format_type_be(own), format_type_be(other)),
					 errdetail("Which values are equal depends on the time zone, and that of storage nodes is another one."),
					 errhint("Use columns of one type.")));
		if (!collations_agree(key, i))
			ereport(ERROR,
					(errcode(ERRCODE_COLLATION_MISMATCH),
					 errmsg("foreign key constraint \"%s\" cannot be implemented", key->name),
					 errdetail("Key columns \"%s\" and \"%s\" have incompatible collations.",
							   get_attname(key->child, key->child_columns[i], false),
							   get_attname(key->parent, key->parent_columns[i], false))));
		if (!OidIsValid(get_array_type(getBaseType(own))) || !OidIsValid(get_array_type(getBaseType(other))))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign key constraint \"%s\" is not possible with type %s", key->name, format_type_be(own)),
					 errdetail("Keys travel to storage nodes in arrays, and there are none of this type."),
					 errhint("Use columns of another type.")));
	}
}

/* REFERENCES on the table or on all columns. */
static void
check_rights(const ShuttleForeignKey *key)
{
	if (pg_class_aclcheck(key->parent, GetUserId(), ACL_REFERENCES) == ACLCHECK_OK)
		return;
	for (int i = 0; i < key->ncolumns; i++)
	{
		AclResult	rights = pg_attribute_aclcheck(key->parent, key->parent_columns[i], GetUserId(), ACL_REFERENCES);

		if (rights != ACLCHECK_OK)
			aclcheck_error(rights, OBJECT_TABLE, get_rel_name(key->parent));
	}
}

static bool
sets(char action)
{
	return action == FKCONSTR_ACTION_SETNULL || action == FKCONSTR_ACTION_SETDEFAULT;
}

static void
check_generated(const ShuttleForeignKey *key)
{
	for (int i = 0; i < key->ncolumns; i++)
	{
		char		generated = get_attgenerated(key->child, key->child_columns[i]);

		if (generated == '\0')
			continue;
		if (generated == ATTRIBUTE_GENERATED_VIRTUAL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign key constraints on virtual generated columns are not supported")));
		if (sets(key->on_update) || key->on_update == FKCONSTR_ACTION_CASCADE || sets(key->on_delete))
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("invalid %s action for foreign key constraint containing generated column",
							sets(key->on_delete) ? "ON DELETE" : "ON UPDATE")));
	}
}

static void
check_set_columns(const ShuttleForeignKey *key)
{
	for (int i = 0; i < key->nset; i++)
	{
		int			at = 0;

		while (at < key->ncolumns && key->child_columns[at] != key->set_columns[i])
			at++;
		if (at == key->ncolumns)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("column \"%s\" referenced in ON DELETE SET action must be part of foreign key",
							get_attname(key->child, key->set_columns[i], false))));
	}
}

/* As core names keys: after the table and the columns. */
static char *
choose_name(Oid child, const List *names)
{
	char		columns[NAMEDATALEN * 2] = "";
	const ListCell *cell;

	foreach(cell, names)
	{
		size_t		length = strlen(columns);

		snprintf(columns + length, sizeof(columns) - length, "%s%s", length == 0 ? "" : "_", strVal(lfirst(cell)));
		if (strlen(columns) >= NAMEDATALEN)
			break;
	}
	return ChooseConstraintName(get_rel_name(child), columns, "fkey", get_rel_namespace(child), NIL);
}

static char *
name_of(Oid child, const Constraint *constraint)
{
	if (constraint->conname == NULL)
		return choose_name(child, constraint->fk_attrs);
	if (ConstraintNameIsUsed(CONSTRAINT_RELATION, child, constraint->conname))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("constraint \"%s\" for relation \"%s\" already exists", constraint->conname, get_rel_name(child))));
	return constraint->conname;
}

static void
refuse_doubles(const AttrNumber *columns, int ncolumns)
{
	for (int i = 0; i < ncolumns; i++)
	{
		for (int j = 0; j < i; j++)
		{
			if (columns[i] == columns[j])
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_FOREIGN_KEY),
						 errmsg("foreign key referenced-columns list must not contain duplicates")));
		}
	}
}

/* Everything that can be wrong with the key. Returns the parent's index. */
static Oid
read_statement(ShuttleForeignKey *key, const Constraint *constraint)
{
	Relation	parent = table_open(key->parent, NoLock);
	Oid			classes[INDEX_MAX_KEYS];
	int			nreferred;
	Oid			index;

	if (KEY_IS_OF_18(constraint))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a foreign key with PERIOD or NOT ENFORCED is not possible on distributed table \"%s\"",
						get_rel_name(shuttle_table_kind(key->child) == SHUTTLE_TABLE_DISTRIBUTED ? key->child : key->parent)),
				 errhint("Leave the words out.")));
	key->ncolumns = find_columns(key->child, constraint->fk_attrs, key->child_columns);
	key->nset = find_columns(key->child, constraint->fk_del_set_cols, key->set_columns);
	nreferred = find_columns(key->parent, constraint->pk_attrs, key->parent_columns);
	refuse_doubles(key->parent_columns, nreferred);
	index = find_index(parent, key->parent_columns, &nreferred, classes);
	table_close(parent, NoLock);
	if (nreferred != key->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FOREIGN_KEY),
				 errmsg("number of referencing and referenced columns for foreign key disagree")));
	key->match = constraint->fk_matchtype;
	key->on_update = constraint->fk_upd_action;
	key->on_delete = constraint->fk_del_action;
	check_rights(key);
	check_generated(key);
	check_set_columns(key);
	set_operators(key, classes);
	return index;
}

static void
check_persistence(Oid child, Oid parent)
{
	if (get_rel_persistence(parent) != RELPERSISTENCE_PERMANENT ||
		get_rel_persistence(child) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg(get_rel_persistence(child) == RELPERSISTENCE_TEMP ?
						"constraints on temporary tables may reference only temporary tables" :
						"constraints on permanent tables may reference only permanent tables")));
	if (get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE && shuttle_table_kind(child) != SHUTTLE_TABLE_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key of partitioned table \"%s\" on this server cannot refer to distributed table \"%s\"",
						get_rel_name(child), get_rel_name(parent)),
				 errhint("Make \"%s\" an ordinary or a distributed table.", get_rel_name(child))));
	if (get_rel_relkind(parent) == RELKIND_PARTITIONED_TABLE && shuttle_table_kind(parent) != SHUTTLE_TABLE_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key of distributed table \"%s\" cannot refer to partitioned table \"%s\" of this server",
						get_rel_name(child), get_rel_name(parent)),
				 errhint("Make \"%s\" an ordinary or a distributed table.", get_rel_name(parent))));
}

static Oid
make_constraint(const ShuttleForeignKey *key, const Constraint *constraint, Oid index, bool is_valid)
{
	ShuttleConstraintRow row = {
		.name = key->name,
		.child = key->child,
		.parent = key->parent,
		.index = index,
		.ncolumns = key->ncolumns,
		.child_columns = key->child_columns,
		.parent_columns = key->parent_columns,
		.parent_child = key->parent_child,
		.parent_parent = key->parent_parent,
		.child_child = key->child_child,
		.nset = key->nset,
		.set_columns = key->set_columns,
		.match = key->match,
		.on_update = key->on_update,
		.on_delete = key->on_delete,
		.deferrable = constraint->deferrable,
		.deferred = constraint->initdeferred,
		.is_valid = is_valid,
	};
	Oid			made = shuttle_constraint_make(&row);

	CommandCounterIncrement();
	return made;
}

Oid
shuttle_foreign_key_create(Oid child, Oid parent, const Constraint *constraint, bool check)
{
	ShuttleForeignKey key = {.child = child,.parent = parent};
	bool		is_valid = !constraint->skip_validation;
	Oid			index;

	check &= !IsBinaryUpgrade;
	shuttle_barrier_raise();	/* referred rows are written elsewhere, too */
	LockRelationOid(child, ShareRowExclusiveLock);
	LockRelationOid(parent, ShareRowExclusiveLock);
	check_persistence(child, parent);
	key.name = name_of(child, constraint);
	index = read_statement(&key, constraint);
	shuttle_foreign_key_refuse_node_actions(&key);
	key.oid = make_constraint(&key, constraint, index, is_valid && !check);
	make_triggers(child, key.oid, false);
	make_triggers(parent, key.oid, true);
	CacheInvalidateRelcacheByRelid(child);
	CacheInvalidateRelcacheByRelid(parent);
	if (is_valid && check)
		shuttle_foreign_key_validate(key.oid);
	return key.oid;
}

void
shuttle_foreign_key_drop(Oid constraint)
{
	ObjectAddress address;

	ObjectAddressSet(address, ConstraintRelationId, constraint);
	performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
}
