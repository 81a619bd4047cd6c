import { explicitAgentId, type LocalIdentity, localCaller } from '../identity/local-caller.js';
import type { Answer } from '../pipeline/answer.js';
import type { Operation } from '../pipeline/operation.js';
import type { Request } from '../pipeline/pipeline.js';
import type { SessionAccess } from './node-tools.js';

/** Runs the operations of this machine, in the daemon or in this process. */
export interface LocalTools {
  /** Rejects when neither a daemon answers nor this process can open the memory. */
  open(): Promise<void>;
  run(operation: Operation, request: Request & { readonly surface: 'mcp' }): Promise<Answer>;
  close(): Promise<void>;
}

/** The access of a client that started this process: it is whoever the process is. */
export const localAccess = (tools: LocalTools, identity: LocalIdentity): SessionAccess => ({
  loads: (profile) => `start the server with --profile ${profile}`,
  open: () => tools.open(),
  close: () => tools.close(),
  callerOf: (operation, args, clientName) =>
    localCaller(identity, explicitAgentId(operation, args), clientName),
  run: (operation, request) => tools.run(operation, { ...request, surface: 'mcp' }),
});
