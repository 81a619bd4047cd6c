import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Answer } from '../pipeline/answer.js';
import type { CallContext } from './call-tool.js';
import { completeArgument, listResources, type Reader, readResource, TEMPLATES } from './resources.js';
import type { SessionLog } from './session-log.js';

type Fields = Record<string, unknown>;
/** What the library knows of a request. */
export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What the methods of later versions need of the session. */
export interface LaterSession {
  readonly log: SessionLog;
  /** Throws that there is no such method, in a session of the first version. */
  readonly requireLater: (method: string) => void;
  readonly read: (operation: string, input: Fields, context: CallContext) => Promise<Answer>;
  readonly contextOf: (extra: Extra) => CallContext;
}

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Parameters of any form; the SDK's own schemas refuse with other messages. */
export const params = z.unknown().optional().transform(fieldsOf);

const requestOf = <M extends string>(method: M) => z.object({ method: z.literal(method), params });

/** Offers resources, completions and logging, which this node has in later versions only. */
export function serveLaterMethods(server: Server, session: LaterSession): void {
  const offer = (method: string, answer: (given: Fields, read: Reader) => Fields | Promise<Fields>) =>
    server.setRequestHandler(requestOf(method), async (request, extra) => {
      session.requireLater(method);
      const context = session.contextOf(extra);
      return answer(request.params, (operation, input) => session.read(operation, input, context));
    });
  offer('resources/list', ({ cursor }, read) => listResources(read, cursor));
  offer('resources/templates/list', () => ({ resourceTemplates: TEMPLATES }));
  offer('resources/read', ({ uri }, read) => readResource(read, uri));
  offer('completion/complete', ({ ref, argument }, read) =>
    completeArgument(read, fieldsOf(ref), fieldsOf(argument)),
  );
  offer('logging/setLevel', ({ level }) => {
    session.log.setLevel(level);
    return {};
  });
}
