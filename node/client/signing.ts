import type { SignableMemory, Signed, Signer } from './public.js';
import type { ClientRoute } from './routes.js';

/** What a client signs its calls with. A page in a browser has none, and stays without Node's cryptography. */
export interface Signing {
  memory(signer: Signer, memory: SignableMemory): Promise<SignableMemory & Signed>;
  /** The headers of a decision on a pending action, signed with the secret of the node; each is good once. */
  decision(
    route: ClientRoute,
    subject: string,
    body: string,
    secret: string,
  ): Readonly<Record<string, string>>;
}
