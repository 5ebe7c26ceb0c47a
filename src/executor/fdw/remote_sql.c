/*-------------------------------------------------------------------------
 * remote_sql.c
 *	  Finds clauses in a SELECT that postgres_fdw made.
 *
 * What postgres_fdw ships is only in its text: a locking clause may be in a
 * subquery, and a LIMIT leaves no other trace in the plan. The text is read
 * word by word with SQL's quoting rules. Key words are safe to look for, since
 * postgres_fdw quotes names that are key words.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "executor/fdw/scan_text.h"
#include "storage/shuttle_sql_tokens.h"

/* Position in the text, and the last word or number read. */
typedef struct SqlReader
{
	const char *next;
	int			depth;			/* depth of parentheses */
	const char *word;
	int			length;
} SqlReader;

static bool next_locking_clause(SqlReader *reader, const char **strength);
static bool next_word(SqlReader *reader);
static bool word_is(const SqlReader *reader, const char *word);

static inline bool
in_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' ||
		IS_HIGHBIT_SET(c);
}

/* False if a word is nowhere in the text, in quotes or not. Saves reading most
 * texts word by word. */
static bool
may_have_word(const char *sql, const char *word)
{
	const char	first[] = {word[0], pg_tolower((unsigned char) word[0]), '\0'};
	size_t		length = strlen(word);

	for (sql = strpbrk(sql, first); sql != NULL; sql = strpbrk(sql + 1, first))
	{
		if (pg_strncasecmp(sql, word, length) == 0)
			return true;
	}
	return false;
}

bool
shuttle_remote_sql_locks(const char *sql)
{
	return shuttle_remote_sql_count_locks(sql) > 0;
}

int
shuttle_remote_sql_count_locks(const char *sql)
{
	SqlReader	reader = {.next = sql};
	const char *strength;
	int			nclauses = 0;

	if (!may_have_word(sql, "FOR"))
		return 0;
	while (next_locking_clause(&reader, &strength))
		nclauses++;
	return nclauses;
}

char *
shuttle_remote_sql_change_locks(const char *sql, const char *strength,
								const char *policy)
{
	SqlReader	reader = {.next = sql};
	const char *copied = sql;
	const char *old_strength;
	StringInfoData out;

	initStringInfo(&out);
	while (next_locking_clause(&reader, &old_strength))
	{
		SqlReader	behind = reader;

		if (strength != NULL)
		{
			appendBinaryStringInfo(&out, copied, old_strength - copied);
			appendStringInfoString(&out, strength);
			copied = reader.next;
		}
		if (next_word(&behind) && word_is(&behind, "OF") && next_word(&behind))
			reader = behind;
		appendBinaryStringInfo(&out, copied, reader.next - copied);
		copied = reader.next;
		if (policy != NULL)
			appendStringInfo(&out, " %s", policy);
	}
	appendStringInfoString(&out, copied);
	return out.data;
}

char *
shuttle_remote_sql_without_locks(const char *sql)
{
	SqlReader	reader = {.next = sql};
	const char *end;

	if (!next_locking_clause(&reader, &end))
		return pstrdup(sql);
	do
		end--;
	while (isspace((unsigned char) *end));
	end -= strlen("FOR");
	while (isspace((unsigned char) *end))
		end--;
	return pnstrdup(sql, end + 1 - sql);
}

double
shuttle_remote_sql_limit(const char *sql)
{
	SqlReader	reader = {.next = sql};

	if (!may_have_word(sql, "LIMIT"))
		return -1;
	while (next_word(&reader))
	{
		if (reader.depth == 0 && word_is(&reader, "LIMIT"))
		{
			if (next_word(&reader) && reader.depth == 0 &&
				isdigit((unsigned char) *reader.word))
				return strtod(reader.word, NULL);
			return -1;
		}
	}
	return -1;
}

bool
shuttle_remote_sql_takes_limit(const char *sql)
{
	SqlReader	reader = {.next = sql};

	while (next_word(&reader))
	{
		if (reader.depth == 0 &&
			(word_is(&reader, "LIMIT") || word_is(&reader, "OFFSET") ||
			 word_is(&reader, "FETCH") || word_is(&reader, "FOR")))
			return false;
	}
	return true;
}

bool
shuttle_remote_sql_groups(const char *sql)
{
	SqlReader	reader = {.next = sql};

	while (next_word(&reader))
	{
		if (reader.depth == 0 && word_is(&reader, "GROUP"))
			return true;
	}
	return false;
}

/* Finds an item of a SELECT list, from 1; item 0 is the whole list. False if
 * there is no such item. */
static bool
find_list_item(const char *sql, int item, const char **begin, const char **end)
{
	const char *p = sql + strlen("SELECT ");
	int			depth = 0;
	int			current = 1;

	if (pg_strncasecmp(sql, "SELECT ", p - sql) != 0)
		return false;
	*begin = p;
	while (*p != '\0')
	{
		const char *next = shuttle_sql_skip_token(p);

		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (depth == 0 && next - p == strlen("FROM") &&
			pg_strncasecmp(p, "FROM", next - p) == 0)
		{
			*end = p - 1;
			return item == 0 || item == current;
		}
		if (depth == 0 && *p == ',')
		{
			if (current == item)
			{
				*end = p;
				return true;
			}
			if (++current == item)
				*begin = next + 1;
		}
		p = next;
	}
	return false;
}

/* Inserts words, preceded by a blank, after a position in the text. */
static char *
insert_words(const char *sql, const char *at, const char *words)
{
	return psprintf("%.*s %s%s", (int) (at - sql), sql, words, at);
}

/* The end of a table's name, schema.table, each quoted or not. */
static const char *
skip_table_name(const char *from)
{
	const char *end = shuttle_sql_skip_token(from);

	return *end == '.' ? shuttle_sql_skip_token(end + 1) : end;
}

bool
shuttle_remote_sql_find_table(const char *sql, const char **begin, const char **end)
{
	const char *list;
	const char *list_end;

	if (!find_list_item(sql, 0, &list, &list_end))
		return false;
	*begin = list_end + strlen(" FROM ");
	*end = skip_table_name(*begin);
	return true;
}

char *
shuttle_remote_sql_add_sample(const char *sql, int alias, const char *clause)
{
	const char *begin;
	const char *end;
	const char *p;
	char		name[16];

	if (!find_list_item(sql, 0, &begin, &end))
		return NULL;
	p = end + strlen(" FROM ");
	if (alias == 0)
		return insert_words(sql, skip_table_name(p), clause);

	/* "r1" alone follows its table; before a column it has a dot */
	snprintf(name, sizeof(name), "r%d", alias);
	for (; *p != '\0'; p = end)
	{
		end = shuttle_sql_skip_token(p);
		if (end - p == strlen(name) && strncmp(p, name, end - p) == 0 &&
			*end != '.' && p[-1] == ' ')
			return insert_words(sql, end, clause);
	}
	return NULL;
}

bool
shuttle_remote_sql_samples(const char *sql)
{
	SqlReader	reader = {.next = sql};

	if (!may_have_word(sql, "TABLESAMPLE"))
		return false;
	while (next_word(&reader))
	{
		if (word_is(&reader, "TABLESAMPLE"))
			return true;
	}
	return false;
}

char *
shuttle_remote_sql_add_seed(const char *sql, double seed)
{
	SqlReader	reader = {.next = sql};
	const char *copied = sql;
	StringInfoData out;

	initStringInfo(&out);
	while (next_word(&reader))
	{
		int			depth = reader.depth;
		const char *p;

		if (!word_is(&reader, "TABLESAMPLE") || !next_word(&reader))
			continue;

		/* after the method's arguments in parentheses */
		p = reader.next;
		do
		{
			depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
			p = shuttle_sql_skip_token(p);
		} while (*p != '\0' && (depth > reader.depth || p[-1] != ')'));
		if (strncmp(p, " REPEATABLE ", strlen(" REPEATABLE ")) == 0)
			continue;
		appendBinaryStringInfo(&out, copied, p - copied);
		appendStringInfo(&out, " REPEATABLE (%.17g)", seed);
		copied = p;
	}
	appendStringInfoString(&out, copied);
	return out.data;
}

char *
shuttle_remote_sql_add_tableoid(const char *sql, int ctid_item)
{
	const char *qualifier = "";
	const char *begin;
	const char *end;

	if (ctid_item > 0)
	{
		int			length;

		/* an alias and ctid, as r1.ctid */
		if (!find_list_item(sql, ctid_item, &begin, &end))
			return NULL;
		length = end - begin - strlen("ctid");
		if (length < 2 || begin[length - 1] != '.' ||
			strncmp(begin + length, "ctid", strlen("ctid")) != 0 ||
			strcspn(begin, "(, \"") < end - begin)
			return NULL;
		qualifier = pnstrdup(begin, length);
	}
	if (!find_list_item(sql, 0, &begin, &end))
		return NULL;
	return psprintf("%.*s, %stableoid%s", (int) (end - sql), sql, qualifier, end);
}

char *
shuttle_remote_sql_add_columns(const char *sql, const char *columns, bool selects_nothing)
{
	const char *begin;
	const char *end;

	if (!find_list_item(sql, 0, &begin, &end))
		return NULL;
	if (!selects_nothing)
		begin = end;
	return psprintf("%.*s%s%s%s", (int) (begin - sql), sql, selects_nothing ? "" : ", ",
					columns, end);
}

char *
shuttle_remote_sql_compare_tableoid(const char *sql, int parameter)
{
	static const char condition[] = " ctid = $1";
	SqlReader	reader = {.next = sql};
	const char *end;

	while (next_word(&reader))
	{
		if (!word_is(&reader, "WHERE"))
			continue;
		if (strncmp(reader.next, condition, strlen(condition)) != 0)
			break;
		end = reader.next + strlen(condition);
		return psprintf("%.*s AND tableoid = $%d%s", (int) (end - sql), sql,
						parameter, end);
	}
	return NULL;
}

/* ---- what could fail */

/* The token before another one. */
typedef struct SqlToken
{
	const char *text;
	int			length;
} SqlToken;

static bool
token_is_one_of(const SqlToken *token, const char *const *words)
{
	for (; *words != NULL; words++)
	{
		if (token->length == strlen(*words) &&
			strncmp(token->text, *words, token->length) == 0)
			return true;
	}
	return false;
}

/* True if a parenthesis after this token starts no function call, or one that
 * cannot fail. */
static bool
opens_harmlessly(const SqlToken *before, char in_front)
{
	static const char *const words[] = {
		"SELECT", "FROM", "JOIN", "ON", "WHERE", "AND", "OR", "NOT", "IN",
		"ANY", "ALL", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "BY", NULL
	};
	static const char *const functions[] = {"count", "min", "max", NULL};

	if (before->length == 0 || (!in_word(before->text[0]) &&
								before->text[0] != '"'))
		return true;
	return token_is_one_of(before, words) ||
		(token_is_one_of(before, functions) && in_front != '.');
}

/* True if a cast after this token is of a constant or parameter. */
static bool
casts_harmlessly(const SqlToken *before)
{
	static const char *const words[] = {"NULL", "]", NULL};
	char		last = before->length == 0 ? ' ' : before->text[before->length - 1];

	return last == '\'' || (before->length > 0 && before->text[0] == '$') ||
		(before->length > 0 && isdigit((unsigned char) before->text[0])) ||
		token_is_one_of(before, words);
}

/* True for comparisons, the sign of a number, and the star of count(). */
static bool
operates_harmlessly(const SqlToken *operator, const SqlToken *before)
{
	static const char *const comparisons[] = {
		"=", "<>", "<", ">", "<=", ">=", NULL
	};

	if (token_is_one_of(operator, comparisons))
		return true;
	if (operator->length != 1 || before->length != 1 || before->text[0] != '(')
		return false;
	return operator->text[0] == '*' ||
		(operator->text[0] == '-' && isdigit((unsigned char) operator->text[1]));
}

bool
shuttle_remote_sql_may_fail(const char *sql)
{
	SqlToken	before = {NULL, 0};
	char		in_front = ' '; /* character before the previous token */
	const char *p = sql;

	while (*p != '\0')
	{
		SqlToken	token = {p, 0};
		int			length = strspn(p, "+-*/<>=~!@#%^&|`?");

		token.length = length > 0 ? length : shuttle_sql_skip_token(p) - p;
		p += token.length;
		if (isspace((unsigned char) token.text[0]))
			continue;
		if ((length > 0 && !operates_harmlessly(&token, &before)) ||
			(token.text[0] == '(' && !opens_harmlessly(&before, in_front)))
			return true;
		if (token.text[0] == ':' && *p == ':')
		{
			if (!casts_harmlessly(&before))
				return true;
			p++;
		}
		in_front = before.length > 0 ? before.text[0] : ' ';
		before = token;
	}
	return false;
}

/* Reads past the next locking clause; false if there is none. strength: where
 * the words after FOR begin. */
static bool
next_locking_clause(SqlReader *reader, const char **strength)
{
	while (next_word(reader))
	{
		if (!word_is(reader, "FOR"))
			continue;
		if (!next_word(reader))
			break;
		*strength = reader->word;
		if (word_is(reader, "NO") && !next_word(reader))
			break;
		if (word_is(reader, "KEY") && !next_word(reader))
			break;
		if (word_is(reader, "UPDATE") || word_is(reader, "SHARE"))
			return true;
	}
	return false;
}

/* Reads the next word outside of quotes; false at the end. */
static bool
next_word(SqlReader *reader)
{
	const char *p = reader->next;

	while (*p != '\0')
	{
		const char *end = shuttle_sql_skip_token(p);

		if (in_word(*p) && *p != '$' && end[-1] != '\'')
		{
			reader->word = p;
			reader->length = end - p;
			reader->next = end;
			return true;
		}
		if (*p == '(')
			reader->depth++;
		else if (*p == ')')
			reader->depth--;
		p = end;
	}
	reader->next = p;
	return false;
}

static bool
word_is(const SqlReader *reader, const char *word)
{
	return reader->length == strlen(word) &&
		pg_strncasecmp(reader->word, word, reader->length) == 0;
}
