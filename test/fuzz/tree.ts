import type { Dice } from './dice.js';
import type { Values } from './values.js';

/** A place in a JSON value: the keys that lead there. */
type Path = readonly (string | number)[];

/**
 * Changes a JSON value in a few places: members go, come, are doubled, swap their values or take others, right or wrong
 * in type. The value itself stays as it is.
 */
export function mutateTree(value: unknown, dice: Dice, values: Values, most = 3): unknown {
  let tree: unknown = structuredClone(value);
  for (let edit = 1 + dice.below(most); edit > 0; edit -= 1) {
    const paths = pathsOf(tree);
    if (paths.length === 0) return values.anything(1);
    tree = edited(tree, dice.pick(paths), paths, dice, values);
  }
  return tree;
}

function edited(tree: unknown, path: Path, paths: readonly Path[], dice: Dice, values: Values): unknown {
  const holder = at(tree, path.slice(0, -1)) as Record<string | number, unknown>;
  const key = path.at(-1)!;
  const before = holder[key];
  switch (dice.below(8)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return tree;
    case 1:
      holder[key] = structuredClone(at(tree, dice.pick(paths)));
      return tree;
    case 2:
      if (Array.isArray(before)) holder[key] = repeated(before, dice);
      else if (Array.isArray(holder)) holder.splice(Number(key), 0, structuredClone(before));
      else holder[dice.pick(['extra', 'toString', 'constructor', ''])] = structuredClone(before);
      return tree;
    case 3:
      holder[key] = values.anything(1);
      return tree;
    case 4:
      holder[key] = dice.pick([null, true, [], {}, '', 0, -1]);
      return tree;
    default:
      holder[key] = nearby(before, dice, values);
      return tree;
  }
}

/** A little beside what was there. */
function nearby(before: unknown, dice: Dice, values: Values): unknown {
  if (typeof before === 'number')
    return dice.pick([before + 1, before - 1, -before, before * 2 ** 20, before + 0.5]);
  if (typeof before === 'boolean') return !before;
  if (typeof before !== 'string') return values.near({ type: 'string' });
  const cut = dice.below(before.length + 1);
  return dice.pick([
    before.slice(0, cut),
    before.slice(0, cut) + String.fromCharCode(dice.below(0x2100)) + before.slice(cut + 1),
    `${before}${before}`,
    before.toUpperCase(),
    String(values.near({ type: 'string' })),
  ]);
}

/** Many of one, but not more than a body can hold. */
function repeated(list: readonly unknown[], dice: Dice): unknown[] {
  const size = JSON.stringify(list).length;
  const times = Math.min(dice.pick([2, 3, 50, 2000]), Math.max(2, Math.floor(200_000 / size)));
  return Array.from({ length: times }, () => list).flat();
}

function at(tree: unknown, path: Path): unknown {
  let value = tree;
  for (const key of path) value = (value as Record<string | number, unknown>)[key];
  return value;
}

const PLACES_MAX = 400;

function pathsOf(tree: unknown): Path[] {
  const found: Path[] = [];
  const open: { readonly value: unknown; readonly path: Path }[] = [{ value: tree, path: [] }];
  for (const { value, path } of open) {
    if (found.length >= PLACES_MAX) break;
    if (path.length > 0) found.push(path);
    if (typeof value !== 'object' || value === null || path.length > 12) continue;
    for (const [key, member] of Object.entries(value)) {
      open.push({ value: member, path: [...path, Array.isArray(value) ? Number(key) : key] });
    }
  }
  return found;
}
