import { it } from 'node:test';
import { manyProcesses } from './many-processes.js';

it('loses nothing when a daemon, two MCP servers and commands write at once', { timeout: 120_000 }, () =>
  manyProcesses(15),
);
