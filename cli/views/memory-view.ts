import { displayWidth, oneLine, pad, printable } from './text.js';

type Fields = Readonly<Record<string, unknown>>;

/** One memory as a readable block: its title, facts, text and links. */
export function memoryView(answer: Fields): string {
  const memory = (answer['memory'] ?? answer) as Fields;
  const { title, content, metadata, tags, near_duplicates: near, ...facts } = memory;
  const found: (readonly [label: string, text: string])[] = [];
  const fact = (name: string, value: unknown) => {
    const text = Array.isArray(value)
      ? value.join(', ')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : value;
    if (text !== '' && text !== undefined && text !== null)
      found.push([name.replaceAll('_', ' '), oneLine(String(text))]);
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== null && !isEmpty(value)) fact(name, value);
  }
  fact('tags', tags);
  for (const [name, value] of Object.entries((metadata ?? {}) as Fields)) fact(name, value);
  const width = Math.max(0, ...found.map(([label]) => displayWidth(label))) + 2;
  const lines = [
    oneLine(String(title)),
    '',
    ...found.map(([label, text]) => pad(label, width) + text),
    '',
    printable(String(content)).trimEnd(),
  ];
  const links = (answer['links'] ?? []) as readonly Fields[];
  if (links.length > 0) lines.push('', 'links');
  for (const link of links) {
    lines.push(oneLine(`  ${link['source_id']} ${link['relation']} ${link['target_id']}`));
  }
  const duplicates = (near ?? []) as readonly Fields[];
  if (duplicates.length > 0) lines.push('', 'nearly the same');
  for (const duplicate of duplicates) {
    lines.push(`  ${oneLine(`${duplicate['id']} ${duplicate['similarity']} ${duplicate['title']}`)}`);
  }
  return `${lines.join('\n')}\n`;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
