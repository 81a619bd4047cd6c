/** The name of a node of a mesh, which people use instead of its peer id: a DNS label in lower case. */
const NODE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** What could be taken for the beginning of a peer id. */
const LIKE_AN_ID = /^peer(?:-[0-9a-f]*)?$/;

/** Why a text is no name of a node; null when it is one. */
export function nodeNameProblem(text: string): string | null {
  if (!NODE_NAME.test(text)) {
    return 'the name of a node has 1 to 63 letters a to z, digits and hyphens, with no hyphen at an end';
  }
  return LIKE_AN_ID.test(text) ? 'the name of a node must not look like a peer id' : null;
}

/** The name that a host's name gives; null where it gives none. */
export function nodeNameOf(hostname: string): string | null {
  const [label = ''] = hostname.toLowerCase().split('.');
  const name = label
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60)
    .replace(/-+$/, '');
  return nodeNameProblem(name) === null ? name : null;
}

/** The name with the lowest number at its end that no other node has: `lab`, `lab-2`, `lab-3`. */
export function freeNodeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) {
    const end = `-${number}`;
    free = `${name.slice(0, 63 - end.length)}${end}`;
  }
  return free;
}
