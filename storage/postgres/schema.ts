import { KINDS } from '../../protocol/release.js';
import { addedMembers } from '../sql/kinds/local-tables.js';
import { recordIndexes } from '../sql/kinds/record-table.js';
import { SCHEMA } from '../sql/schema.js';
import { translate } from './translate.js';

/**
 * What the common SQL calls and PostgreSQL lacks: functions, operators and aggregates over text that holds JSON, as SQLite
 * reads it. A boolean is 1 or 0. The planner puts the text of a function in the place of its call only where it is not STRICT;
 * a call costs a generated column ten times as much. A function that calls another one has a body that the server binds when it
 * is made: an index is built, and a dump is put back, with a search path that has neither.
 */
const FUNCTIONS = `
DO $$ BEGIN
  IF current_setting('server_version_num')::integer >= 160000 THEN
    CREATE OR REPLACE FUNCTION json_valid(given text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
      $f$ SELECT given IS JSON $f$;
  ELSE
    CREATE OR REPLACE FUNCTION json_parsed(given text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $f$
    BEGIN
      PERFORM given::json;
      RETURN TRUE;
    EXCEPTION WHEN OTHERS THEN
      RETURN FALSE;
    END $f$;
    CREATE OR REPLACE FUNCTION json_valid(given text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
      RETURN CASE given WHEN '{}' THEN TRUE ELSE json_parsed(given) END;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION json_mended(given text) RETURNS json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1 AS
  $$ SELECT regexp_replace(given,
       '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|[dD][89abAB][0-9a-fA-F]{2}(?!\\\\u[dD][c-fC-F])|(?<!\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u)[dD][c-fC-F][0-9a-fA-F]{2})',
       '\\1\\\\ufffd', 'g')::json $$;

CREATE OR REPLACE FUNCTION json_read(given text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN strpos(given, '\\u') = 0 THEN given::json ELSE json_mended(given) END;

CREATE OR REPLACE FUNCTION json_at(given text, path text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_read(given) #> (string_to_array(translate(substr(path, 2), '[]', '.'), '.'))[2:];

CREATE OR REPLACE FUNCTION json_plain(given json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE json_typeof(given) WHEN 'boolean' THEN CASE given::text WHEN 'true' THEN '1' ELSE '0' END
       ELSE given #>> '{}' END;

CREATE OR REPLACE FUNCTION json_member(given text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_plain(json_at(given, path));

CREATE OR REPLACE FUNCTION json_element(given text, place integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_plain(json_read(given) -> place);

CREATE OR REPLACE FUNCTION json_number(given text, path text) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE json_typeof(json_at(given, path)) WHEN 'number' THEN (json_at(given, path) #>> '{}')::numeric END;

CREATE OR REPLACE FUNCTION json_part(given text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_at(given, path)::text;

CREATE OR REPLACE FUNCTION json_kind(given json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE json_typeof(given) WHEN 'string' THEN 'text' WHEN 'boolean' THEN given::text
       WHEN 'number' THEN CASE WHEN given::text ~ '^-?\\d{1,18}$' THEN 'integer' ELSE 'real' END
       ELSE json_typeof(given) END;

CREATE OR REPLACE FUNCTION json_type(given text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_kind(json_at(given, path));

CREATE OR REPLACE FUNCTION json_each(given text) RETURNS TABLE (key text, value text, type text, fullkey text)
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE ROWS 20 AS $$
DECLARE
  whole json := json_read(given);
BEGIN
  IF json_typeof(whole) = 'array' THEN
    RETURN QUERY SELECT (place - 1)::text, json_plain(element), json_kind(element), '$[' || (place - 1) || ']'
      FROM json_array_elements(whole) WITH ORDINALITY AS listed (element, place);
  ELSIF json_typeof(whole) = 'object' THEN
    RETURN QUERY SELECT member.key, json_plain(member.value), json_kind(member.value), '$.' || member.key
      FROM json_each(whole) AS member;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION json_each(given text, path text) RETURNS TABLE (key text, value text, type text, fullkey text)
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC SELECT * FROM json_each(json_at(given, path)::text); END;

CREATE OR REPLACE FUNCTION iif(condition boolean, yes anycompatible, no anycompatible) RETURNS anycompatible LANGUAGE sql
  IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN condition THEN yes ELSE no END $$;

CREATE OR REPLACE FUNCTION max(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT greatest(one, other) $$;

CREATE OR REPLACE FUNCTION min(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT least(one, other) $$;

CREATE OR REPLACE FUNCTION max(one text, other text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT greatest(one, other) $$;

CREATE OR REPLACE FUNCTION instr(given text, part text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT strpos(given, part) $$;

CREATE OR REPLACE FUNCTION hex(given bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT upper(encode(given, 'hex')) $$;

CREATE OR REPLACE FUNCTION typeof(given bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT CASE WHEN given IS NULL THEN 'null' ELSE 'blob' END $$;

CREATE OR REPLACE FUNCTION typeof(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT CASE WHEN given IS NULL THEN 'null' ELSE 'text' END $$;

DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_operator WHERE oprname = '->>' AND oprleft = 'text'::regtype
      AND oprright = 'text'::regtype AND oprnamespace = current_schema()::regnamespace) THEN
    CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_member);
    CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = integer, FUNCTION = json_element);
    CREATE OPERATOR -> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_part);
    CREATE OPERATOR -># (LEFTARG = text, RIGHTARG = text, FUNCTION = json_number);
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'group_concat' AND pronamespace = current_schema()::regnamespace) THEN
    CREATE FUNCTION concat_more(sofar text, given anyelement) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
      $f$ SELECT CASE WHEN given IS NULL THEN sofar WHEN sofar IS NULL THEN given::text ELSE sofar || ',' || given::text END $f$;
    CREATE AGGREGATE group_concat(anyelement) (SFUNC = concat_more, STYPE = text);
    CREATE FUNCTION json_listed(given json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $f$ SELECT given::text $f$;
    CREATE FUNCTION json_list_more(sofar text, given anyelement) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
      $f$ SELECT CASE WHEN sofar IS NULL THEN '[' ELSE sofar || ',' END || to_json(given)::text $f$;
    CREATE FUNCTION json_list_end(sofar text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
      $f$ SELECT coalesce(sofar, '[') || ']' $f$;
    CREATE AGGREGATE json_group_array(anyelement) (SFUNC = json_list_more, STYPE = text, FINALFUNC = json_list_end);
  END IF;
END $$;
`;

/** The audit chain is append-only for everybody who may write. */
const AUDIT_GUARD = `
CREATE OR REPLACE FUNCTION signed_events_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit chain is append-only';
END $$;
DROP TRIGGER IF EXISTS signed_events_no_change ON signed_events;
CREATE TRIGGER signed_events_no_change BEFORE UPDATE OR DELETE ON signed_events FOR EACH ROW
  EXECUTE FUNCTION signed_events_only_grow();
`;

/** The terms of each memory, with their places; those of the tags have the weight A, of the namespace B, of the title C. */
const FULL_TEXT = `
CREATE TABLE memories_fts (
  rowid BIGINT PRIMARY KEY REFERENCES memories (rid) ON DELETE CASCADE,
  terms TSVECTOR NOT NULL
);
CREATE INDEX memories_fts_terms ON memories_fts USING GIN (terms);
CREATE VIEW memories_fts_docsize AS SELECT rowid AS id FROM memories_fts;
`;

/** The number of the last transaction of each writer: it says whether a commit without an answer was done. */
const MARKS = `
CREATE TABLE commit_marks (
  writer TEXT PRIMARY KEY,
  mark BIGINT NOT NULL,
  since TIMESTAMPTZ NOT NULL DEFAULT now()
);
`;

/** Statements of the schema that only SQLite has. */
const OF_SQLITE = /^\s*(PRAGMA|CREATE TRIGGER|CREATE VIRTUAL TABLE)/;

/** A table's statement with numbers that PostgreSQL draws where SQLite numbers rows. */
const numbered = (sql: string): string =>
  sql.replace(
    /^(\s*\w+) INTEGER PRIMARY KEY( AUTOINCREMENT)?(?=[, \n])/m,
    '$1 INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
  );

function statementsOf(sql: string): readonly string[] {
  const bare = sql.replace(/^--.*$/gm, '').replace(/^CREATE TRIGGER[\s\S]*?^END;/gm, '');
  return bare
    .split(/;\s*(?:\n|$)/)
    .map((each) => each.trim())
    .filter((each) => each !== '' && !OF_SQLITE.test(each));
}

/** A part of the schema. */
export interface SchemaPart {
  /** Of its table, view or index, as the server keeps it; null for what is made again at each change. */
  readonly name: string | null;
  readonly sql: string;
  /** True for the first row of a new table. */
  readonly isRow: boolean;
}

const NAME = /^\s*CREATE (?:UNIQUE )?(?:TABLE|VIEW|INDEX)(?: IF NOT EXISTS)? (\w+)/;
/** The server cuts longer names. */
const NAME_CHARACTERS_MAX = 63;

const partOf = (sql: string): SchemaPart => ({
  name: NAME.exec(sql)?.[1]?.slice(0, NAME_CHARACTERS_MAX) ?? null,
  sql,
  isRow: /^\s*INSERT\b/.test(sql),
});

/** The schema of SQLite as PostgreSQL takes it: the same tables, columns and indexes. */
export function postgresSchema(): readonly SchemaPart[] {
  const common = [...statementsOf(SCHEMA), ...recordIndexes(KINDS)];
  return [
    partOf(FUNCTIONS),
    ...common.map((sql) => partOf(translate(numbered(sql)).text)),
    ...statementsOf(FULL_TEXT).map(partOf),
    partOf(MARKS.trim()),
    partOf(AUDIT_GUARD),
  ];
}

/** The columns that each table of a local kind has, with the statement that adds one. */
export function localColumns(): readonly {
  readonly table: string;
  readonly column: string;
  readonly sql: string;
}[] {
  return addedMembers().map(({ table, member, sql }) => ({
    table,
    column: member,
    sql: translate(sql).text,
  }));
}
