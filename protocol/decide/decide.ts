import type { Command, OutcomeOf } from '../commands.js';
import { decideBindAgentKey, decideRegisterAgent } from './agent.js';
import type { Deciding, DecisionContext } from './decision.js';
import { decideEmbeddings } from './embedding.js';
import { decideImport, decideImportLink } from './import.js';
import { decideClaim, decideRelease } from './ownership.js';
import { decidePromote } from './promote.js';
import { decideEnsureQuota } from './quota.js';
import { decideDelete, decideExpire } from './remove.js';
import { decideStore } from './store.js';
import { decideTouch } from './touch.js';
import { decideUpdate } from './update.js';

/** The decision of a command: the one place where a kind meets its rules. */
export function decide(command: Command, context: DecisionContext): Deciding<OutcomeOf<Command>> {
  switch (command.kind) {
    case 'store-memory':
      return decideStore(command, context);
    case 'update-memory':
      return decideUpdate(command, context);
    case 'delete-memory':
      return decideDelete(command, context);
    case 'promote-memory':
      return decidePromote(command, context);
    case 'touch-memories':
      return decideTouch(command, context);
    case 'expire-memories':
      return decideExpire(command, context);
    case 'put-embeddings':
      return decideEmbeddings(command);
    case 'register-agent':
      return decideRegisterAgent(command, context);
    case 'bind-agent-key':
      return decideBindAgentKey(command, context);
    case 'ensure-quota':
      return decideEnsureQuota(command, context);
    case 'claim-ownership':
      return decideClaim(command, context);
    case 'release-ownership':
      return decideRelease(command);
    case 'import-memory':
      return decideImport(command, context);
    case 'import-link':
      return decideImportLink(command, context);
  }
}
