/** Limits that only messages have, with their units. */

/** Messages in one look at an inbox (reference-http §1, row 59). */
export const INBOX_LIMIT_DEFAULT = 50;
export const INBOX_LIMIT_MAX = 500;
/** Messages that one call names to mark them as read. */
export const MARK_READ_IDS_MAX = 500;
/** Messages that one transaction marks, and that are looked up at once where all are marked. */
export const MARK_READ_BATCH_MAX = 250;
export const UNREAD_IDS_MAX = 10_000;
