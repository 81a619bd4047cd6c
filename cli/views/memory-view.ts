import { oneLine, pad, printable } from './text.js';

type Fields = Readonly<Record<string, unknown>>;

const LABEL_COLUMNS = 12;

/** One memory as a readable block: what it is about, its facts, its text, its links. */
export function memoryView(answer: Fields): string {
  const memory = (answer['memory'] ?? answer) as Fields;
  const { title, content, metadata, tags, ...facts } = memory;
  const lines = [oneLine(String(title)), ''];
  const fact = (label: string, value: unknown) => {
    const text = Array.isArray(value)
      ? value.join(', ')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : value;
    if (text !== '' && text !== undefined && text !== null)
      lines.push(pad(label, LABEL_COLUMNS) + oneLine(String(text)));
  };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== null && !isEmpty(value)) fact(label(name), value);
  }
  fact('tags', tags);
  for (const [name, value] of Object.entries((metadata ?? {}) as Fields)) fact(label(name), value);
  lines.push('', printable(String(content)).trimEnd());
  const links = (answer['links'] ?? []) as readonly Fields[];
  if (links.length > 0) lines.push('', 'links');
  for (const link of links) {
    lines.push(oneLine(`  ${link['source_id']} ${link['relation']} ${link['target_id']}`));
  }
  return `${lines.join('\n')}\n`;
}

const label = (name: string) => `${name.replaceAll('_', ' ')} `;

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
