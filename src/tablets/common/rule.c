/*-------------------------------------------------------------------------
 * rule.c
 *	  Texts of placement rules, and labels of nodes that meet them.
 *
 *	rule		clause {; clause}
 *	clause		(anywhere | condition {and condition}) [older than INTERVAL]
 *	condition	label = value | label <> value | label [not] in (value {, value})
 *
 * Labels and values are words, or strings in single quotes. There is at most one clause
 * without an age. Rules are kept as shuttle_rule_text() prints them, so that equal rules
 * have equal texts.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/places.h"

typedef struct Condition
{
	char	   *label;
	List	   *values;			/* strings, in order, each once */
	bool		negated;
} Condition;

typedef struct Reader
{
	const char *text;			/* all of it */
	const char *next;			/* behind the token */
	const char *start;			/* of the token */
	char	   *token;			/* empty at the end */
	bool		is_quoted;
} Reader;

pg_noreturn static void
refuse(const Reader *reader, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("invalid placement rule \"%s\"", reader->text),
			 *reader->token == '\0' && !reader->is_quoted ?
			 errdetail("Expected %s at the end.", expected) :
			 errdetail("Expected %s at \"%s\".", expected, reader->start),
			 errhint("Write, for example, 'region = eu and class in (ssd, nvme)', or 'class = archive older than 90 days'.")));
}

/* ---- tokens */

static bool
is_word(char c)
{
	return isalnum((unsigned char) c) || IS_HIGHBIT_SET(c) || strchr("_-./:", c) != NULL;
}

static void
read_string(Reader *reader)
{
	StringInfoData value;
	const char *at = reader->start + 1;

	initStringInfo(&value);
	while (*at != '\0' && (*at != '\'' || at[1] == '\''))
	{
		at += *at == '\'';
		appendStringInfoChar(&value, *at++);
	}
	if (*at == '\0')
	{
		reader->token = "";
		refuse(reader, "a closing quote");
	}
	reader->token = value.data;
	reader->next = at + 1;
}

static void
advance(Reader *reader)
{
	const char *at = reader->next;

	while (isspace((unsigned char) *at))
		at++;
	reader->start = at;
	reader->is_quoted = *at == '\'';
	if (reader->is_quoted)
	{
		read_string(reader);
		return;
	}
	if (*at != '\0' && is_word(*at))
	{
		while (*at != '\0' && is_word(*at))
			at++;
	}
	else if ((*at == '<' && at[1] == '>') || (*at == '!' && at[1] == '='))
		at += 2;
	else if (*at != '\0')
		at++;
	reader->token = pnstrdup(reader->start, at - reader->start);
	reader->next = at;
}

static bool
is_at(const Reader *reader, const char *word)
{
	return !reader->is_quoted && pg_strcasecmp(reader->token, word) == 0;
}

static bool
take(Reader *reader, const char *word)
{
	bool		found = is_at(reader, word);

	if (found)
		advance(reader);
	return found;
}

static void
need(Reader *reader, const char *word)
{
	if (!take(reader, word))
		refuse(reader, psprintf("\"%s\"", word));
}

static char *
take_name(Reader *reader, const char *what)
{
	char	   *name = reader->token;

	if (*name == '\0' || (!reader->is_quoted && !is_word(*name)))
		refuse(reader, what);
	advance(reader);
	return name;
}

/* ---- clauses */

static int
compare_strings(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

static bool
has_string(const List *strings, const char *string)
{
	const ListCell *cell;

	foreach(cell, strings)
	{
		if (strcmp(lfirst(cell), string) == 0)
			return true;
	}
	return false;
}

static List *
take_values(Reader *reader)
{
	List	   *values = NIL;

	need(reader, "(");
	for (bool more = true; more; more = take(reader, ","))
	{
		char	   *value = take_name(reader, "a value");

		if (!has_string(values, value))
			values = lappend(values, value);
	}
	need(reader, ")");
	list_sort(values, compare_strings);
	return values;
}

static Condition *
take_condition(Reader *reader)
{
	Condition  *condition = palloc0_object(Condition);

	condition->label = take_name(reader, "the name of a label");
	condition->negated = is_at(reader, "not") || is_at(reader, "<>") || is_at(reader, "!=");
	if (take(reader, "=") || take(reader, "<>") || take(reader, "!="))
		condition->values = list_make1(take_name(reader, "a value"));
	else
	{
		if (take(reader, "not"))
			condition->negated = true;
		if (!take(reader, "in"))
			refuse(reader, "\"=\", \"<>\" or \"in\"");
		condition->values = take_values(reader);
	}
	return condition;
}

/* All up to the end of the clause is the age. */
static Interval *
take_age(Reader *reader)
{
	const char *start = reader->start;
	const char *end = start + strcspn(start, ";");
	Interval   *age;
	Interval	zero = {0};

	while (start < end && isspace((unsigned char) *start))
		start++;
	reader->start = start;
	reader->token = pnstrdup(start, end - start);
	if (start == end)
		refuse(reader, "an interval");
	age = DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(pnstrdup(start, end - start)),
												ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	if (!DatumGetBool(DirectFunctionCall2(interval_gt, IntervalPGetDatum(age), IntervalPGetDatum(&zero))))
		refuse(reader, "an interval above zero");
	reader->next = end;
	advance(reader);
	return age;
}

static void
add_name(StringInfo text, const char *name)
{
	static const char *const keywords[] = {"and", "in", "not", "older", "than", "anywhere"};
	bool		plain = *name != '\0';

	for (const char *at = name; *at != '\0'; at++)
		plain &= is_word(*at);
	for (int i = 0; i < lengthof(keywords); i++)
		plain &= pg_strcasecmp(name, keywords[i]) != 0;
	if (plain)
	{
		appendStringInfoString(text, name);
		return;
	}
	appendStringInfoChar(text, '\'');
	for (const char *at = name; *at != '\0'; at++)
		appendStringInfo(text, *at == '\'' ? "''" : "%c", *at);
	appendStringInfoChar(text, '\'');
}

static char *
condition_text(const Condition *condition)
{
	StringInfoData text;
	ListCell   *cell;
	bool		is_list = list_length(condition->values) > 1;

	initStringInfo(&text);
	add_name(&text, condition->label);
	appendStringInfoString(&text, is_list ? (condition->negated ? " not in (" : " in (") :
						   (condition->negated ? " <> " : " = "));
	foreach(cell, condition->values)
	{
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(&text, ", ");
		add_name(&text, lfirst(cell));
	}
	if (is_list)
		appendStringInfoChar(&text, ')');
	return text.data;
}

static char *
conditions_text(const List *conditions)
{
	StringInfoData text;
	List	   *texts = NIL;
	const ListCell *cell;

	foreach(cell, conditions)
		texts = lappend(texts, condition_text(lfirst(cell)));
	list_sort(texts, compare_strings);
	initStringInfo(&text);
	foreach(cell, texts)
		appendStringInfo(&text, "%s%s", foreach_current_index(cell) == 0 ? "" : " and ", (char *) lfirst(cell));
	return text.data;
}

static ShuttleRuleClause *
take_clause(Reader *reader)
{
	ShuttleRuleClause *clause = palloc0_object(ShuttleRuleClause);

	if (!take(reader, "anywhere"))
	{
		for (bool more = true; more; more = take(reader, "and"))
			clause->conditions = lappend(clause->conditions, take_condition(reader));
	}
	clause->text = conditions_text(clause->conditions);
	if (take(reader, "older"))
	{
		if (!is_at(reader, "than"))
			refuse(reader, "\"than\"");
		reader->start = reader->next;
		clause->age = take_age(reader);
	}
	return clause;
}

/* The clause without an age first, then from the lowest age on. */
static int
compare_ages(const ListCell *a, const ListCell *b)
{
	const ShuttleRuleClause *one = lfirst(a);
	const ShuttleRuleClause *other = lfirst(b);

	if (one->age == NULL || other->age == NULL)
		return (one->age != NULL) - (other->age != NULL);
	return DatumGetInt32(DirectFunctionCall2(interval_cmp, IntervalPGetDatum(one->age), IntervalPGetDatum(other->age)));
}

ShuttleRule *
shuttle_rule_parse(const char *text)
{
	Reader		reader = {0};
	ShuttleRule *rule = palloc0_object(ShuttleRule);
	bool		has_base = false;
	bool		more = true;

	reader.text = text;
	reader.next = text;

	advance(&reader);
	while (more)
	{
		ShuttleRuleClause *clause = take_clause(&reader);

		if (clause->age == NULL && has_base)
			refuse(&reader, "an age in all clauses but one");
		has_base |= clause->age == NULL;
		rule->clauses = lappend(rule->clauses, clause);
		more = take(&reader, ";");
	}
	if (*reader.token != '\0' || reader.is_quoted)
		refuse(&reader, "\"and\", \"older than\" or \";\"");
	list_sort(rule->clauses, compare_ages);
	return rule;
}

/* Whatever the session's style is. */
static char *
age_text(const Interval *age)
{
	int			style = IntervalStyle;
	char	   *text;

	IntervalStyle = INTSTYLE_POSTGRES;
	text = DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(age)));

	IntervalStyle = style;
	return text;
}

char *
shuttle_rule_text(const ShuttleRule *rule)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, rule->clauses)
	{
		const ShuttleRuleClause *clause = lfirst(cell);

		appendStringInfo(&text, "%s%s", foreach_current_index(cell) == 0 ? "" : "; ",
						 clause->conditions == NIL ? "anywhere" : clause->text);
		if (clause->age != NULL)
			appendStringInfo(&text, " older than %s", age_text(clause->age));
	}
	return text.data;
}

const ShuttleRuleClause *
shuttle_rule_base(const ShuttleRule *rule)
{
	ListCell   *cell;

	foreach(cell, rule->clauses)
	{
		const ShuttleRuleClause *clause = lfirst(cell);

		if (clause->age == NULL)
			return clause;
	}
	return NULL;
}

bool
shuttle_rule_has_ages(const ShuttleRule *rule)
{
	return list_length(rule->clauses) > (shuttle_rule_base(rule) != NULL ? 1 : 0);
}

/* ---- labels */

static const char *
find_label(const List *labels, const char *name)
{
	const ListCell *cell;

	foreach(cell, labels)
	{
		const ShuttleLabel *label = lfirst(cell);

		if (strcmp(label->name, name) == 0)
			return label->value;
	}
	return NULL;
}

static bool
is_met(const Condition *condition, const List *labels)
{
	const char *value = find_label(labels, condition->label);

	return value != NULL && has_string(condition->values, value) != condition->negated;
}

bool
shuttle_rule_allows(const ShuttleRuleClause *clause, const List *labels)
{
	ListCell   *cell;

	foreach(cell, clause == NULL ? NIL : clause->conditions)
	{
		if (!is_met(lfirst(cell), labels))
			return false;
	}
	return true;
}

List *
shuttle_rule_labels(Oid serverid)
{
	const char *text = shuttle_option_text(GetForeignServer(serverid)->options, "shuttle_labels");
	List	   *labels = NIL;
	ListCell   *cell;

	if (text == NULL)
		return NIL;
	foreach(cell, shuttle_local_rows(psprintf("SELECT key, value FROM jsonb_each_text(%s) WHERE $1 IS NOT NULL",
											  quote_literal_cstr(text)), InvalidOid))
	{
		char	  **row = lfirst(cell);
		ShuttleLabel *label = palloc_object(ShuttleLabel);

		label->name = row[0];
		label->value = row[1];
		labels = lappend(labels, label);
	}
	return labels;
}

char *
shuttle_rule_list_nodes(const List *servers)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, servers)
	{
		const ForeignServer *server = GetForeignServer(lfirst_oid(cell));
		const char *labels = shuttle_option_text(server->options, "shuttle_labels");

		appendStringInfo(&text, "%s%s %s", foreach_current_index(cell) == 0 ? "" : ", ",
						 server->servername, labels == NULL ? "{}" : labels);
	}
	return text.data;
}
