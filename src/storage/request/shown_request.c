/*-------------------------------------------------------------------------
 * shown_request.c
 *	  Statements for nodes, as messages show them.
 *
 * A request has constants that its user has never written: values of variables and of other
 * rows. A message with them would tell whoever called a SECURITY DEFINER function what it
 * has read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "storage/shuttle_shown_request.h"
#include "storage/shuttle_sql_tokens.h"

#define INSTEAD "..."

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_in_name(char c)
{
	return IS_HIGHBIT_SET(c) || isalnum((unsigned char) c) || c == '_';
}

/* Behind a number, which is several tokens if it has a point or an exponent. */
static const char *
skip_number(const char *at)
{
	while (is_in_name(*at) || *at == '.' ||
		   ((*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E')))
		at++;
	return at;
}

/* True of a sign, and not of an operator behind a value. */
static bool
is_sign(const StringInfoData *text, const char *at)
{
	char		before = text->len == 0 ? ' ' : text->data[text->len - 1];

	return (*at == '-' || *at == '+') && (is_digit(at[1]) || at[1] == '.') &&
		!is_in_name(before) && strchr(")]\"'.", before) == NULL;
}

/* True of a word that is a constant, or of one in quotes. What is tested with IS is printed in capital
 * letters. */
static bool
is_constant(const char *at, int length)
{
	return *at == '\'' || ((*at == 'e' || *at == 'E') && at[1] == '\'') ||
		(*at == '$' && !is_digit(at[1])) ||
		(length == 4 && strncmp(at, "true", 4) == 0) || (length == 5 && strncmp(at, "false", 5) == 0) ||
		(length == 4 && strncmp(at, "NULL::", 6) == 0);
}

/* Negative constants alone are in parentheses. */
static void
close_parenthesis(StringInfo text)
{
	static const char *const open = "(" INSTEAD;
	int			start = text->len - (int) strlen(open);

	if (start < 0 || strcmp(text->data + start, open) != 0 ||
		(start > 0 && strchr(" (", text->data[start - 1]) == NULL))
	{
		appendStringInfoChar(text, ')');
		return;
	}
	memmove(text->data + start, INSTEAD, strlen(INSTEAD) + 1);
	text	  ->len--;
}

static const char *
take_token(StringInfo text, const char *at)
{
	const char *end;

	if (is_sign(text, at))
		at++;
	end = shuttle_sql_skip_token(at);
	if (is_digit(*at) || (*at == '.' && is_digit(at[1])))
	{
		appendStringInfoString(text, INSTEAD);
		return skip_number(at);
	}
	if (is_constant(at, end - at))
		appendStringInfoString(text, INSTEAD);
	else if (*at == ')')
		close_parenthesis(text);
	else if (strncmp(at, "--", 2) != 0 && strncmp(at, "/*", 2) != 0)
		appendBinaryStringInfo(text, at, end - at);
	return end;
}

char *
shuttle_shown_request(const char *sql)
{
	StringInfoData text;

	initStringInfo(&text);
	while (*sql != '\0')
		sql = take_token(&text, sql);
	return text.data;
}
