import type { Picture, PictureEdge } from '../../node/pipeline/pictures.js';
import { clip, oneLine, shortInstant } from './text.js';

const UUID = /^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** A graph as a tree from its root. A memory's own branches are drawn where it comes first. */
export function treeView(picture: Picture, columns: number): string {
  const labels = new Map(picture.nodes.map(({ id, label }) => [id, label]));
  const children = new Map<string, PictureEdge[]>();
  for (const edge of picture.edges) {
    const branches = children.get(edge.from);
    if (branches === undefined) children.set(edge.from, [edge]);
    else branches.push(edge);
  }
  const [root] = picture.nodes;
  if (root === undefined) return 'nothing\n';
  const drawn = new Set([root.id]);
  const lines = [clip(nameOf(root.id, root.label), columns)];
  const draw = (id: string, indent: string): void => {
    const branches = children.get(id) ?? [];
    for (const [index, edge] of branches.entries()) {
      const last = index === branches.length - 1;
      const repeated = drawn.has(edge.to);
      drawn.add(edge.to);
      const name = nameOf(edge.to, labels.get(edge.to) ?? edge.to);
      const line = `${indent}${last ? '└─' : '├─'} ${arrowOf(edge)} ${name}${repeated ? ' (above)' : ''}`;
      lines.push(clip(line, columns));
      if (!repeated) draw(edge.to, `${indent}${last ? '   ' : '│  '}`);
    }
  };
  draw(root.id, '');
  if (picture.edges.length === 0) lines.push('└─ nothing');
  return `${lines.join('\n')}\n`;
}

function arrowOf({ label, reversed = false }: PictureEdge): string {
  const text = oneLine(label).replace(INSTANT, shortInstant);
  return reversed ? `<- ${text} -` : `- ${text} ->`;
}

/** The title, with what finds the memory again. */
function nameOf(id: string, label: string): string {
  const title = oneLine(label);
  const short = UUID.exec(id)?.[1] ?? oneLine(id);
  return short === '' || title.includes(short) ? title : `${title} [${short}]`;
}
