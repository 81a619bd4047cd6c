import { NO_REST } from '../../../protocol/kinds/payload.js';
import { type Link, UNENDED } from '../../../protocol/links/link.js';
import { linkEnvelopeBytes } from '../../../protocol/links/link-envelope.js';
import type { ReadCall } from '../../pipeline/call.js';

type Stated = Pick<Link, 'source_id' | 'target_id' | 'relation' | 'valid_from' | 'valid_until'>;

/** The link that a caller observed, signed with the key of the machine where it has one. */
export function observedLink(call: ReadCall, stated: Stated): Link {
  const observed = { ...stated, observed_by: call.caller.agentId };
  const { machineKey } = call.services;
  const signed =
    machineKey === null
      ? { signature: null, attest_level: 'unsigned', signed_at: null, public_key: null }
      : {
          signature: base64(machineKey.sign(linkEnvelopeBytes(observed))),
          attest_level: 'self_signed',
          signed_at: call.now,
          public_key: base64(machineKey.publicKey),
        };
  return { ...observed, ...signed, ...UNENDED, created_at: call.now, rest: NO_REST };
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
