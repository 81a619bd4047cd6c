import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { formingParts, requireMesh, shown } from './mesh-parts.js';

/** Gives the node that made the mesh a new certificate. */
export const renewCommand = defineCommand({
  name: 'mesh renew',
  summary: "Replace this node's certificate and key; a running node uses them without ending a connection.",
  examples: ['mesh renew'],
  run: async (parsed, terminal) => {
    // Certificates are expensive to load, and every help loads the commands.
    const { renewOwnCertificate } = await import('../../node/mesh/forming/form.js');
    const parts = formingParts(parsed);
    const facts = requireMesh(parts.folder);
    if (!facts.ok) return failed(facts.error);
    if (!parts.folder.isAuthority) {
      return fail(
        'FORBIDDEN',
        'certificates come from the node that made the mesh: run "mesh invite" there and "mesh join <token>" here',
      );
    }
    const renewed = await renewOwnCertificate(parts);
    if (!renewed.ok) return failed(renewed.error);
    await terminal.print(shown(parsed, terminal, { renewed: true, certificate: renewed.value.fingerprint }));
    return ok(0);
  },
});
