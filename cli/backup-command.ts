import { ok } from '../protocol/result.js';
import { defineCommand } from './define-command.js';
export const backupCommand = defineCommand({ name: 'backup', summary: 'x', run: async () => ok(0) });
