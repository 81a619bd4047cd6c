import type { Survey } from '../../node/mesh/survey.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import type { ParsedArguments } from '../arguments.js';
import { settingsFor } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { seamsOf } from './mesh-parts.js';

/** Asks this node's daemon and every member how they stand. */
export async function survey(parsed: ParsedArguments): Promise<Result<Survey>> {
  let found: Result<Survey> | null = null;
  const ran = await withLocalNode(parsed, async ({ store, peerId }) => {
    // Its HTTP client is dear to load, and every help loads the commands.
    const { surveyMesh } = await import('../../node/mesh/survey.js');
    const sign = () => ({});
    found = await surveyMesh({ ...seamsOf(parsed), home: settingsFor(parsed).home, peerId, store, sign });
    return ok(0);
  });
  return ran.ok ? found! : failed(ran.error);
}
