/** Limits that only messages have, with their units. */

/** Messages in one look at an inbox (reference-http §1, row 59). */
export const INBOX_LIMIT_DEFAULT = 50;
export const INBOX_LIMIT_MAX = 500;
/** Messages that one call marks as read, and that one transaction marks. */
export const MARK_READ_IDS_MAX = 500;
export const MARK_READ_BATCH_MAX = 100;
