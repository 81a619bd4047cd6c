/** A graph to be drawn. */
export interface Picture {
  /** The first one is the root. */
  readonly nodes: readonly PictureNode[];
  /** In the order in which they were walked; both ends are nodes. */
  readonly edges: readonly PictureEdge[];
}

export interface PictureNode {
  readonly id: string;
  readonly label: string;
}

export interface PictureEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** True for a link that points from `to` to `from`. */
  readonly reversed?: boolean;
}

/** The graph in the language of Graphviz. */
export function dotText(picture: Picture): string {
  const { names, nodes, arrows } = named(picture);
  return [
    'digraph knowledge {',
    '  rankdir=LR;',
    '  node [shape=box];',
    ...nodes.map(({ id, label }) => `  ${names.get(id)!} [label=${dotString(label)}];`),
    ...arrows.map(({ tail, head, label }) => `  ${tail} -> ${head} [label=${dotString(label)}];`),
    '}',
    '',
  ].join('\n');
}

/** The graph as a Mermaid flowchart. */
export function mermaidText(picture: Picture): string {
  const { names, nodes, arrows } = named(picture);
  return [
    'flowchart LR',
    ...nodes.map(({ id, label }) => `  ${names.get(id)!}["${mermaidLabel(label)}"]`),
    ...arrows.map(({ tail, head, label }) => `  ${tail} -->|"${mermaidLabel(label)}"| ${head}`),
    '',
  ].join('\n');
}

/** Ids and titles are texts of callers, so the nodes get names of their own. */
function named({ nodes, edges }: Picture) {
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const arrows = edges.map(({ from, to, label, reversed = false }) => {
    const [tail, head] = reversed ? [to, from] : [from, to];
    return { tail: names.get(tail)!, head: names.get(head)!, label };
  });
  return { names, nodes, arrows };
}

// Control characters, separators of lines, and marks that turn the direction of writing.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** A label on one line, without characters that a viewer would obey. */
function plainLabel(label: string): string {
  const text = label.replace(UNPRINTABLE, ' ').trim();
  return text === '' ? '?' : text;
}

/** Graphviz reads escapes and HTML entities in quoted strings. */
function dotString(label: string): string {
  const text = plainLabel(label)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"');
  return `"${text}"`;
}

/**
 * Mermaid looks for directives, entities, HTML and lists also inside quotes, so every sign that may begin one is written
 * as an entity.
 */
function mermaidLabel(label: string): string {
  return plainLabel(label).replace(
    /[\x21-\x2b\x3b-\x40\x5b-\x5e\x60\x7b-\x7e]|[-.](?=\s|$)/g,
    (sign) => `#${sign.charCodeAt(0)};`,
  );
}
