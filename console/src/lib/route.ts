/** Where a person is in the console, as its address says. The key and the agent are in no address. */
export interface Place {
  readonly view: string;
  /** The subject of the view, such as the id of a memory; null for the view itself. */
  readonly subject: string | null;
  readonly query: Readonly<Record<string, string>>;
}

export const BASE = '/console';
export const FIRST_VIEW = 'memories';

/** Reads the path and the query of an address; what it cannot read leads to the first view. */
export function placeOf(pathname: string, search: string): Place {
  const [view = '', subject = '', ...rest] = pathname
    .slice(BASE.length)
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (view === '' || rest.length > 0) return { view: FIRST_VIEW, subject: null, query };
  return { view, subject: subject === '' ? null : subject, query };
}

/** The address of a place; empty values are left out of its query. */
export function addressOf(
  view: string,
  subject: string | null = null,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  const text = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `${BASE}/${encodeURIComponent(view)}${subject === null ? '' : `/${encodeURIComponent(subject)}`}${text}`;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
