import { COMMITS } from './server-presence.js';

/** The key of the lock that a writer of a database holds from the beginning of its transaction to the end. */
export const WRITER_LOCK = 0x6d6e656d;

export const TAKE_LOCK = `SELECT pg_advisory_xact_lock(${WRITER_LOCK})`;
export const LEAVE_MARK = `INSERT INTO commit_marks (writer, mark) VALUES (?, ?)
  ON CONFLICT (writer) DO UPDATE SET mark = excluded.mark, since = now() RETURNING mark`;
/** Forgets writers of last week as well: one asks for its mark within seconds of its commit. */
export const NAME_WRITER = `WITH gone AS (DELETE FROM commit_marks WHERE since < now() - interval '7 days')
  SELECT gen_random_uuid()::text AS name`;
export const TELL = `NOTIFY ${COMMITS}`;
export const READ_MARK = 'SELECT mark FROM commit_marks WHERE writer = ?';

/** Writers take turns, so what one reads of a sequence holds until its transaction ends. (Who only writes rows may not set one.) */
export const LAST_NUMBER = 'SELECT pg_sequence_last_value(pg_get_serial_sequence(?, ?)::regclass)';
export const TAKE_NUMBERS =
  'SELECT max(nextval(pg_get_serial_sequence(?, ?)::regclass)) FROM generate_series(1, CAST(? AS INTEGER))';
