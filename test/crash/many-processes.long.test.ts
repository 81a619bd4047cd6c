import { it } from 'node:test';
import { manyProcesses } from './many-processes.js';

it('keeps 500 writes each of a daemon, two MCP servers and a command loop', { timeout: 900_000 }, () =>
  manyProcesses(500),
);
