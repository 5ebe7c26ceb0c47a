/*-------------------------------------------------------------------------
 * shown_request.c
 *	  Statements for nodes, as messages show them.
 *
 * A request has constants that its user has never written: values of variables and of other
 * rows. A message with them would tell whoever called a SECURITY DEFINER function what it
 * has read.
 *
 * The text is split as PostgreSQL's scanner does it. That one raises errors, and this is called
 * while an error is raised. Where the text ends within a constant, its rest is one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "storage/shuttle_shown_request.h"

#define INSTEAD "..."

/* As in identifiers of PostgreSQL; also what ends the name of a dollar quote. */
static bool
begins_name(char c)
{
	return IS_HIGHBIT_SET(c) || isalpha((unsigned char) c) || c == '_';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *
skip_name(const char *at)
{
	while (begins_name(*at) || is_digit(*at) || *at == '$')
		at++;
	return at;
}

/* Behind what is in quotes, which a doubled one does not end. */
static const char *
skip_quoted(const char *at, char quote, bool with_escapes)
{
	while (*at != '\0')
	{
		if (*at == quote && *++at != quote)
			return at;
		if (with_escapes && *at == '\\' && at[1] != '\0')
			at++;
		if (*at != '\0')
			at++;
	}
	return at;
}

/* Behind a constant in dollar quotes; NULL: there is none. */
static const char *
skip_dollars(const char *at)
{
	const char *behind = begins_name(at[1]) ? at + 1 : NULL;
	const char *end;
	char	   *tag;

	for (; behind != NULL && (begins_name(*behind) || is_digit(*behind)); behind++)
		;
	if (behind == NULL)
		behind = at + 1;
	if (*behind != '$')
		return NULL;
	behind++;
	tag = pnstrdup(at, behind - at);
	end = strstr(behind, tag);
	end = end == NULL ? behind + strlen(behind) : end + strlen(tag);
	pfree(tag);
	return end;
}

static const char *
skip_number(const char *at)
{
	while (begins_name(*at) || is_digit(*at) || *at == '.' ||
		   ((*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E')))
		at++;
	return at;
}

/* Behind a comment; at: its first letter. */
static const char *
skip_comment(const char *at)
{
	int			depth = 0;

	if (*at == '-')
		return at + strcspn(at, "\n");
	do
	{
		if (at[0] == '/' && at[1] == '*')
			depth++;
		else if (at[0] == '*' && at[1] == '/')
			depth--;
		else
		{
			at++;
			continue;
		}
		at += 2;
	} while (depth > 0 && *at != '\0');
	return at;
}

/* Behind a word: the name of something, or a constant, as true, and those with a letter
 * before the quote. */
static const char *
take_word(StringInfo text, const char *at)
{
	const char *behind = skip_name(at);
	int			length = behind - at;

	if (length == 1 && *behind == '\'' && strchr("bBeEnNxX", *at) != NULL)
	{
		appendStringInfoString(text, INSTEAD);
		return skip_quoted(behind + 1, '\'', *at == 'e' || *at == 'E');
	}
	if (length == 1 && (*at == 'u' || *at == 'U') && behind[0] == '&' && behind[1] == '\'')
	{
		appendStringInfoString(text, INSTEAD);
		return skip_quoted(behind + 2, '\'', false);
	}

	/* what is tested with IS is printed in capital letters */
	if ((length == 4 && strncmp(at, "true", 4) == 0) || (length == 5 && strncmp(at, "false", 5) == 0) ||
		(length == 4 && strncmp(at, "NULL::", 6) == 0))
		appendStringInfoString(text, INSTEAD);
	else
		appendBinaryStringInfo(text, at, length);
	return behind;
}

static const char *
take_quoted_name(StringInfo text, const char *at)
{
	const char *behind = skip_quoted(at + 1, '"', false);

	appendBinaryStringInfo(text, at, behind - at);
	return behind;
}

/* Behind $1, which is no constant, or what is in dollar quotes. */
static const char *
take_dollar(StringInfo text, const char *at)
{
	const char *behind = is_digit(at[1]) ? NULL : skip_dollars(at);

	if (behind != NULL)
	{
		appendStringInfoString(text, INSTEAD);
		return behind;
	}
	do
		appendStringInfoChar(text, *at++);
	while (is_digit(*at));
	return at;
}

static const char *
take_constant(StringInfo text, const char *behind)
{
	appendStringInfoString(text, INSTEAD);
	return behind;
}

/* True of a sign, and not of an operator behind a value. */
static bool
is_sign(const StringInfoData *text, const char *at)
{
	char		before = text->len == 0 ? ' ' : text->data[text->len - 1];

	return (*at == '-' || *at == '+') && (is_digit(at[1]) || at[1] == '.') &&
		!begins_name(before) && !is_digit(before) && strchr(")]\"'.", before) == NULL;
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
	if (begins_name(*at))
		return take_word(text, at);
	if (*at == '"')
		return take_quoted_name(text, at);
	if (*at == '$')
		return take_dollar(text, at);
	if (*at == '\'')
		return take_constant(text, skip_quoted(at + 1, '\'', false));
	if (is_sign(text, at))
		at++;
	if (is_digit(*at) || (*at == '.' && is_digit(at[1])))
		return take_constant(text, skip_number(at));
	if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'))
		return skip_comment(at);
	if (*at == ')')
		close_parenthesis(text);
	else
		appendStringInfoChar(text, *at);
	return at + 1;
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
