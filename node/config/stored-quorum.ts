import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { placeFile } from '../../storage/atomic-file.js';
import type { ConfigProblem } from './config-problem.js';
import { MESH_ROWS } from './rows-mesh.js';

/** The quorum that `mesh init` or `mesh join` was given; every later start of the node uses it. */

const stored = z.strictObject({
  writes: z.int().min(MESH_ROWS.quorumWrites.min).max(MESH_ROWS.quorumWrites.max),
});

const fileIn = (home: string): string => join(home, 'mesh', 'quorum.json');

/** Null when none was given, or when the file cannot be read; that is a fatal problem, because writes count on it. */
export function readStoredQuorum(home: string, report: (problem: ConfigProblem) => void): number | null {
  const path = fileIn(home);
  try {
    return stored.parse(JSON.parse(readFileSync(path, 'utf8'))).writes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    report({
      code: 'CONFIG_VALUE_INVALID',
      level: 'fatal',
      message: `${path} does not hold the write quorum of this node`,
      fix: `write {"writes":2} into it, with the number of nodes that must have a write, or remove it`,
    });
    return null;
  }
}

/** Keeps the quorum. The folder `mesh` must exist. */
export function storeQuorum(home: string, writes: number): void {
  const path = fileIn(home);
  placeFile({ path, draft: `${path}.next`, content: `${JSON.stringify({ writes })}\n`, mode: 0o600 });
}
